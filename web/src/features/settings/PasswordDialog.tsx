import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { PasswordField } from '@/components/Field'
import { confirmPassword } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { useTask } from '@/lib/ui/task'
import styles from './FactorPage.module.css'
import { texts } from './texts'

interface PasswordDialogProps {
  email: string
  words: Readonly<Record<'title' | 'body' | 'confirm', string>>
  danger?: boolean
  onConfirmed: (password: string) => Promise<void>
  onClose: () => void
  /** Fields above the password. */
  children?: ReactNode
}

/** Asks for the password before a change of the second factor or the passkeys. */
export function PasswordDialog({
  email,
  words: said,
  danger = false,
  onConfirmed,
  onClose,
  children,
}: PasswordDialogProps) {
  const form = useId()
  const input = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const fail = (message: string) => {
    setError(message)
    input.current?.focus()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const password = input.current?.value ?? ''
    if (password === '') return fail(texts.currentRequired)
    void run(
      async () => {
        await confirmPassword(email, password)
        await onConfirmed(password)
      },
      (cause) => fail(identityMessage(cause, 'change-password')),
    )
  }
  return (
    <ConfirmDialog
      title={said.title}
      confirm={said.confirm}
      danger={danger}
      busy={busy}
      form={form}
      onClose={onClose}
    >
      <form id={form} className={styles.page} noValidate onSubmit={submit}>
        <p>{said.body}</p>
        {children}
        <PasswordField
          ref={input}
          label={texts.current}
          name="current-password"
          autoComplete="current-password"
          error={error}
          onChange={() => setError(undefined)}
        />
      </form>
    </ConfirmDialog>
  )
}
