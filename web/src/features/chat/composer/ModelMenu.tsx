import { useAtom } from 'jotai'
import { ChevronDown } from 'lucide-react'
import { Menu, MenuCheck, MenuChoice, MenuSeparator } from '@/components/Menu'
import { modelOf } from '@/entities/model/models'
import { modelSelectionAtom, useModels } from '../conversation/modelSelection'
import { texts } from '../texts'
import styles from './ModelMenu.module.css'

const words = texts.model

/** ModelMenu chooses the model and whether it thinks first. It is empty without a choice. */
export function ModelMenu({ skillId }: { skillId: string }) {
  const choice = useModels(skillId)
  const [selection, setSelection] = useAtom(modelSelectionAtom(skillId))
  const current = choice && modelOf(choice, selection.model_id)
  if (!choice || !current) return null
  const thinks = current.thinking === 'switch'
  if (choice.models.length < 2 && !thinks) return null
  const thinking = thinks && selection.thinking === true
  return (
    <Menu
      trigger={
        <button type="button" className={styles.trigger} aria-label={words.chosen(current.name, thinking)}>
          <span>{thinking ? words.withThinking(current.name) : current.name}</span>
          <ChevronDown size={14} aria-hidden />
        </button>
      }
    >
      {choice.models.length > 1 && (
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
      )}
      {choice.models.length > 1 && thinks && <MenuSeparator />}
      {thinks && (
        <MenuCheck checked={thinking} onChange={(on) => setSelection({ ...selection, thinking: on })}>
          {words.think}
        </MenuCheck>
      )}
    </Menu>
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
