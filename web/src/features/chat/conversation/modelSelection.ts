import { useQuery } from '@tanstack/react-query'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import type { MessageRequest } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { storedAtoms } from '@/lib/browser/storedAtoms'
import { store } from '@/lib/ui/store'

/** ModelSelection is the choice of the model and of thinking in a question's request; missing fields mean the default. */
export type ModelSelection = Pick<MessageRequest, 'model_id' | 'thinking'>

/** modelSelectionAtom returns the user's last choice for a skill. It is stored in this browser. */
export const modelSelectionAtom = storedAtoms<ModelSelection>('model:', {
  parse,
  format: (selection) => (Object.keys(selection).length === 0 ? '' : JSON.stringify(selection)),
  // A choice in one tab does not change the model in another.
  follows: () => false,
})

/**
 * modelSelectionOf returns the choice for a question to a skill, limited to the available models. If thinking is optional, it is
 * set to the value on the screen.
 */
export function modelSelectionOf(skillId: string): ModelSelection {
  const selection = store.get(modelSelectionAtom(skillId))
  const choice = queryClient.getQueryData(modelChoiceQuery(skillId).queryKey)
  if (choice === undefined) return selection
  const model = modelOf(choice, selection.model_id)
  return {
    ...(model !== undefined && model.id === selection.model_id && { model_id: model.id }),
    ...(model?.thinking === 'switch' && { thinking: selection.thinking ?? false }),
  }
}

/** useModels returns the models for a skill; null while unknown and for an unsaved skill. */
export function useModels(skillId: string) {
  return useQuery({ ...modelChoiceQuery(skillId), enabled: /^[0-9a-f-]{36}$/.test(skillId) }).data ?? null
}

function parse(text: string): ModelSelection {
  try {
    const { model_id, thinking } = JSON.parse(text) as Partial<Record<keyof ModelSelection, unknown>>
    return {
      ...(typeof model_id === 'string' && { model_id }),
      ...(typeof thinking === 'boolean' && { thinking }),
    }
  } catch {
    return {}
  }
}
