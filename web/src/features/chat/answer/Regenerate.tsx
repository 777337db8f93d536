import { RotateCcw } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu'
import type { Message } from '@/lib/api'
import { focusComposer } from '@/lib/ui/composer'
import type { Conversation } from '../conversation/conversation'
import { useModels } from '../conversation/modelSelection'
import { texts } from '../texts'
import styles from './Answer.module.css'

interface RegenerateProps {
  readonly conversation: Conversation
  readonly messageId: string
  readonly disabled: boolean
}

/** Regenerate regenerates an answer, with a choice of models if there are several. */
export function Regenerate({ conversation, messageId, disabled }: RegenerateProps) {
  const models = useModels(conversation.skillId)?.models ?? []
  const again = (model_id?: string) => {
    conversation.regenerate(messageId, undefined, model_id === undefined ? undefined : { model_id })
    focusComposer()
  }
  const button = (
    <IconButton size="sm" label={texts.actions.regenerate} disabled={disabled} onClick={() => again()}>
      <RotateCcw size={16} />
    </IconButton>
  )
  // A menu replaces the action of its button.
  if (models.length < 2) return button
  return (
    <Menu trigger={button} align="start">
      <MenuItem onSelect={() => again()}>{texts.model.again}</MenuItem>
      <MenuSeparator />
      <div role="group" aria-label={texts.model.with}>
        {models.map((model) => (
          <MenuItem key={model.id} onSelect={() => again(model.id)}>
            {texts.model.by(model.name)}
          </MenuItem>
        ))}
      </div>
    </Menu>
  )
}

/** WrittenBy shows the model of an answer, unless only the default model is available. */
export function WrittenBy({ message, skillId }: { message: Message; skillId: string }) {
  const choice = useModels(skillId)
  const { model_id, model_name } = message
  if (!choice || !model_id || !model_name) return null
  if (choice.models.length < 2 && model_id === choice.default_id) return null
  return (
    <span className={styles.time} title={texts.model.wrote(model_name)}>
      <span className="visually-hidden">{texts.model.wrote('')}</span>
      {model_name}
    </span>
  )
}
