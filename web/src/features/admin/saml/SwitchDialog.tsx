import { useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { firstErrorMessage } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './Saml.module.css'

interface Consequences {
  readonly title: string
  readonly items: readonly string[]
}

export interface SwitchWords {
  readonly turnOn: string
  readonly turnOff: string
  readonly turningOn: Consequences
  readonly turningOff: Consequences
  readonly turnedOn: string
  readonly turnedOff: string
}

interface SwitchDialogProps {
  readonly on: boolean
  readonly words: SwitchWords
  readonly submit: () => Promise<void>
  readonly onClose: () => void
}

/** Asks before single sign-on by a protocol is switched on or off. */
export function SwitchDialog({ on, words, submit, onClose }: SwitchDialogProps) {
  const { busy, run } = useTask()
  const [error, setError] = useState<unknown>(null)
  const { title, items } = on ? words.turningOn : words.turningOff

  const confirm = () => {
    setError(null)
    void run(async () => {
      await submit()
      toast(on ? words.turnedOn : words.turnedOff, { tone: 'success' })
      onClose()
    }, setError)
  }
  return (
    <ConfirmDialog
      title={title}
      confirm={on ? words.turnOn : words.turnOff}
      danger={!on}
      busy={busy}
      onConfirm={confirm}
      onClose={onClose}
    >
      <ul className={styles.consequences}>
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
      <div role="alert">{error !== null && <FieldErrorText>{firstErrorMessage(error)}</FieldErrorText>}</div>
    </ConfirmDialog>
  )
}
