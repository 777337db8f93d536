import { type FormEvent, type ReactNode, useId } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { PasswordField } from '@/components/Field'
import { confirmPassword } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { useInputs } from '@/lib/ui/inputs'
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
  const { busy, fail, field, value, run } = useInputs<'password'>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const password = value('password')
    if (password === '') return fail('password', texts.currentRequired)
    const confirm = async () => {
      await confirmPassword(email, password)
      await onConfirmed(password)
    }
    void run(confirm, (cause) => ['password', identityMessage(cause, 'change-password')])
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
          {...field('password')}
          label={texts.current}
          name="current-password"
          autoComplete="current-password"
        />
      </form>
    </ConfirmDialog>
  )
}
