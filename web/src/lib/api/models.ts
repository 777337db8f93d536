import { signed, take } from './http'
import type { ModelChoice, ModelUsage, OrganizationModels, OrganizationModelsRequest } from './types'

/** The models that the user may choose, and the default model. `skillId` selects the default of a skill. */
export async function getModelChoice(
  skillId: string | undefined,
  signal?: AbortSignal,
): Promise<ModelChoice> {
  const query = skillId === undefined ? {} : { skill_id: skillId }
  return take(signed.GET('/v1/model', { params: { query }, signal: signal ?? null }))
}

/** All models of the server, with the organization's settings for each. */
export async function getOrganizationModels(signal?: AbortSignal): Promise<OrganizationModels> {
  return take(signed.GET('/v1/organization/model', { signal: signal ?? null }))
}

/** Sets the models that members may choose. */
export async function putOrganizationModels(body: OrganizationModelsRequest): Promise<OrganizationModels> {
  return take(signed.PUT('/v1/organization/model', { body }))
}

/** The usage by model, most tokens first: of a month such as 2026-04, or of the last 30 days if `month` is ''. */
export async function listModelUsage(month: string, signal?: AbortSignal): Promise<ModelUsage[]> {
  const query = { limit: 100, ...(month && { month }) }
  return (await take(signed.GET('/v1/contract/usage/model', { params: { query }, signal: signal ?? null })))
    .items
}
