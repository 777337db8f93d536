import { queryOptions } from '@tanstack/react-query'
import { call, type ModelChoice, type ModelOption } from '@/lib/api'
import { reload } from '@/lib/api/queries'

/** How long a list of models is fresh, in milliseconds. Administrators rarely change it. */
const FRESH_MS = 60_000

/**
 * modelChoiceQuery reads the models that the user may choose, and the default model. `skillId` selects the default of a
 * skill.
 */
export function modelChoiceQuery(skillId?: string) {
  return queryOptions({
    queryKey: ['models', skillId ?? ''],
    queryFn: ({ signal }) => call('getModelChoice', { ...(skillId && { skill_id: skillId }), signal }),
    staleTime: FRESH_MS,
  })
}

/** refreshModels reloads the models after a change of the available ones. */
export function refreshModels(): Promise<void> {
  return reload(['models'])
}

/** modelOf returns a model of the list, or the default model if the list does not contain it. */
export function modelOf(
  { models, default_id }: ModelChoice,
  id: string | undefined,
): ModelOption | undefined {
  return models.find((model) => model.id === id) ?? models.find((model) => model.id === default_id)
}
