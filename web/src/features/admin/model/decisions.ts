import type { OrganizationModels, OrganizationModelsRequest } from '@/lib/api'

/** Decisions are the organization's settings for the models of its server, in order. */
export type Decisions = OrganizationModelsRequest

export function decisionsOf({ default_id, models }: OrganizationModels): Decisions {
  return {
    default_id,
    models: models.map(({ id, allowed, name = '', note = '' }) => ({ id, allowed, name, note })),
  }
}

/**
 * withAllowed allows or forbids a model. If the default model is forbidden, the first allowed one becomes the default.
 */
export function withAllowed({ default_id, models }: Decisions, id: string, allowed: boolean): Decisions {
  const next = models.map((model) => (model.id === id ? { ...model, allowed } : model))
  const remains = next.some((model) => model.id === default_id && model.allowed)
  return {
    default_id: remains ? default_id : (next.find((model) => model.allowed)?.id ?? default_id),
    models: next,
  }
}
