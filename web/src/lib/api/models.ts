import { signed, take } from './http'
import type { ModelChoice, ModelUsage, OrganizationModels, OrganizationModelsRequest } from './types'

/** The models that the user may choose, and the one that answers otherwise: with a skill, the skill's. */
export async function getModelChoice(
  skillId: string | undefined,
  signal?: AbortSignal,
): Promise<ModelChoice> {
  const query = skillId === undefined ? {} : { skill_id: skillId }
  return take(signed.GET('/v1/model', { params: { query }, signal: signal ?? null }))
}

/** All models of the server, with what the organization has decided on each. */
export async function getOrganizationModels(signal?: AbortSignal): Promise<OrganizationModels> {
  return take(signed.GET('/v1/organization/model', { signal: signal ?? null }))
}

/** Decides which models the members may choose. */
export async function putOrganizationModels(body: OrganizationModelsRequest): Promise<OrganizationModels> {
  return take(signed.PUT('/v1/organization/model', { body }))
}

/** The usage by model, most tokens first: of a month, as 2026-04, or with '' of the last 30 days. */
export async function listModelUsage(month: string, signal?: AbortSignal): Promise<ModelUsage[]> {
  const query = { limit: 100, ...(month && { month }) }
  return (await take(signed.GET('/v1/contract/usage/model', { params: { query }, signal: signal ?? null })))
    .items
}
