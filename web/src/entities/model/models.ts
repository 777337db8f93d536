import { queryOptions } from '@tanstack/react-query'
import type { ModelChoice, ModelOption } from '@/lib/api'
import { getModelChoice } from '@/lib/api/models'
import { readAnew } from '@/lib/api/queries'

/** How long a list of models is believed, in milliseconds: administrators change it now and then. */
const FRESH_MS = 60_000

/** The models that the user may choose, and the one that answers otherwise: with a skill, the skill's. */
export function modelChoiceQuery(skillId?: string) {
  return queryOptions({
    queryKey: ['models', skillId ?? ''],
    queryFn: ({ signal }) => getModelChoice(skillId, signal),
    staleTime: FRESH_MS,
  })
}

/** Reads the models anew: what may be chosen has changed. */
export function refreshModels(): Promise<void> {
  return readAnew(['models'])
}

/** A model of the list, or the one that answers otherwise if it is not, or no longer, among them. */
export function modelOf(
  { models, default_id }: ModelChoice,
  id: string | undefined,
): ModelOption | undefined {
  return models.find((model) => model.id === id) ?? models.find((model) => model.id === default_id)
}
