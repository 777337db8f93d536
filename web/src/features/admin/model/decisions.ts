import type { OrganizationModels, OrganizationModelsRequest } from '@/lib/api'

/** What an organization decides on the models of its server, in their order. */
export type Decisions = OrganizationModelsRequest

export function decisionsOf({ default_id, models }: OrganizationModels): Decisions {
  return {
    default_id,
    models: models.map(({ id, allowed, name = '', note = '' }) => ({ id, allowed, name, note })),
  }
}

/** Allows a model or not. The default is one that is allowed: the first one if it was withdrawn. */
export function withAllowed({ default_id, models }: Decisions, id: string, allowed: boolean): Decisions {
  const next = models.map((model) => (model.id === id ? { ...model, allowed } : model))
  const remains = next.some((model) => model.id === default_id && model.allowed)
  return {
    default_id: remains ? default_id : (next.find((model) => model.allowed)?.id ?? default_id),
    models: next,
  }
}
