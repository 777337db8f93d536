import { useAtomValue } from 'jotai'
import { modelOf } from '@/entities/model/models'
import type { Skill } from '@/lib/api'
import { modelSelectionAtom, useModels } from '../conversation/modelSelection'
import { texts } from '../texts'

/** usePictureRefusal returns why a question to a skill cannot have pictures; '' if it can, null while unknown. */
export function usePictureRefusal(skill: Skill): string | null {
  const choice = useModels(skill.id)
  const selection = useAtomValue(modelSelectionAtom(skill.id))
  const model = choice && modelOf(choice, selection.model_id)
  if (!choice || !model) return null
  if (model.sees) return ''
  return choice.models.some(({ sees }) => sees)
    ? texts.pictures.cannotSee(model.name)
    : texts.pictures.noModel
}
