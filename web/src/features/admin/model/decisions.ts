import type { OrganizationModels, OrganizationModelsRequest, SkillGroup } from '@/lib/api'

/** Decision is the organization's settings for a model. */
export interface Decision {
  readonly id: string
  readonly allowed: boolean
  readonly name: string
  readonly note: string
  /** The groups whose members may choose the model; empty for everyone. */
  readonly groups: readonly SkillGroup[]
}

/** Decisions are the organization's settings for the models of its server, in order. */
export interface Decisions {
  readonly default_id: string
  readonly models: readonly Decision[]
}

export function decisionsOf({ default_id, models }: OrganizationModels): Decisions {
  return {
    default_id,
    models: models.map(({ id, allowed, name = '', note = '', groups }) => ({
      id,
      allowed,
      name,
      note,
      groups,
    })),
  }
}

export function requestOf({ default_id, models }: Decisions): OrganizationModelsRequest {
  return {
    default_id,
    models: models.map(({ groups, ...model }) => ({ ...model, group_ids: groups.map(({ id }) => id) })),
  }
}

/** isForAll reports whether all members may choose a model. */
export function isForAll({ allowed, groups }: Decision): boolean {
  return allowed && groups.length === 0
}

/**
 * withChange changes the settings of a model. If not all members may choose the default model any more, the first one
 * that they may choose becomes the default.
 */
export function withChange(
  { default_id, models }: Decisions,
  id: string,
  change: Partial<Decision>,
): Decisions {
  const next = models.map((model) => (model.id === id ? { ...model, ...change } : model))
  const remains = next.some((model) => model.id === default_id && isForAll(model))
  return {
    default_id: remains ? default_id : (next.find(isForAll)?.id ?? default_id),
    models: next,
  }
}
