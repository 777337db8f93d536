import { useQuery } from '@tanstack/react-query'
import { useAtom } from 'jotai'
import { ChevronDown } from 'lucide-react'
import { Menu, MenuCheck, MenuChoice, MenuSeparator } from '@/components/Menu'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import styles from './ModelMenu.module.css'
import { texts } from './texts'
import { wishAtom } from './wishes'

const words = texts.model

/** useModels returns the models for a skill; null while unknown and for an unsaved skill. */
export function useModels(skillId: string) {
  return useQuery({ ...modelChoiceQuery(skillId), enabled: /^[0-9a-f-]{36}$/.test(skillId) }).data ?? null
}

/** ModelMenu chooses the model and whether it thinks first. It is empty without a choice. */
export function ModelMenu({ skillId }: { skillId: string }) {
  const choice = useModels(skillId)
  const [wish, setWish] = useAtom(wishAtom(skillId))
  const current = choice && modelOf(choice, wish.model_id)
  if (!choice || !current) return null
  const thinks = current.thinking === 'switch'
  if (choice.models.length < 2 && !thinks) return null
  const thinking = thinks && wish.thinking === true
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
            const { model_id: _, ...rest } = wish
            setWish(id === choice.default_id ? rest : { ...rest, model_id: id })
          }}
        />
      )}
      {choice.models.length > 1 && thinks && <MenuSeparator />}
      {thinks && (
        <MenuCheck checked={thinking} onChange={(on) => setWish({ ...wish, thinking: on })}>
          {words.think}
        </MenuCheck>
      )}
    </Menu>
  )
}

/** ModelNote reports that the chosen model is no longer available and which model answers instead. */
export function ModelNote({ skillId }: { skillId: string }) {
  const choice = useModels(skillId)
  const [wish] = useAtom(wishAtom(skillId))
  const current = choice && modelOf(choice, wish.model_id)
  if (!current || wish.model_id === undefined || wish.model_id === current.id) return null
  return (
    <p className={styles.note} role="status">
      {words.withdrawn(current.name)}
    </p>
  )
}
