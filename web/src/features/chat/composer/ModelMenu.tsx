import { useAtom } from 'jotai'
import { Brain } from 'lucide-react'
import { ComposerTool } from '@/components/ComposerBox'
import { Menu, MenuChoice } from '@/components/Menu'
import { modelOf } from '@/entities/model/models'
import { modelSelectionAtom, useModels } from '../conversation/modelSelection'
import { texts } from '../texts'
import styles from './ModelMenu.module.css'

const words = texts.model

/** ModelMenu chooses the model, and has the switch for thinking first. It is empty without a choice. */
export function ModelMenu({ skillId }: { skillId: string }) {
  const choice = useModels(skillId)
  const [selection, setSelection] = useAtom(modelSelectionAtom(skillId))
  const current = choice && modelOf(choice, selection.model_id)
  if (!choice || !current) return null
  const thinking = selection.thinking === true
  return (
    <>
      {choice.models.length > 1 && (
        <Menu
          sheet
          trigger={<ComposerTool aria-label={words.chosen(current.name)}>{current.name}</ComposerTool>}
        >
          <MenuChoice
            label={words.label}
            value={current.id}
            options={choice.models.map((model) => ({
              value: model.id,
              label: model.name,
              note: [model.id === choice.default_id && words.standard, model.note].filter(Boolean).join('・'),
            }))}
            onChange={(id) => {
              const { model_id: _, ...rest } = selection
              setSelection(id === choice.default_id ? rest : { ...rest, model_id: id })
            }}
          />
        </Menu>
      )}
      {current.thinking === 'switch' && (
        <ComposerTool
          icon={<Brain size={16} aria-hidden />}
          role="switch"
          aria-checked={thinking}
          onClick={() => setSelection({ ...selection, thinking: !thinking })}
        >
          {words.think}
        </ComposerTool>
      )}
    </>
  )
}

/** ModelNote reports that the chosen model is no longer available and which model answers instead. */
export function ModelNote({ skillId }: { skillId: string }) {
  const choice = useModels(skillId)
  const [selection] = useAtom(modelSelectionAtom(skillId))
  const current = choice && modelOf(choice, selection.model_id)
  if (!current || selection.model_id === undefined || selection.model_id === current.id) return null
  return (
    <p className={styles.note} role="status">
      {words.withdrawn(current.name)}
    </p>
  )
}
