import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import type { AuthTypeAnswer } from '@/lib/api'
import { signIn } from '@/lib/identity'
import { identityMessage } from '@/lib/identityMessages'
import { Account } from './Account'
import styles from './steps.module.css'
import { texts } from './texts'

/** Asks for the password, and speaks to the identity provider. */
export function PasswordStep({
  email,
  way,
  onBack,
  onDone,
  onNewPassword,
}: {
  email: string
  way: AuthTypeAnswer
  onBack: () => void
  onDone: () => void
  onNewPassword: (session: string) => void
}) {
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)

  const fail = (message: string) => {
    setError(message)
    field.current?.focus()
  }

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const password = field.current?.value ?? ''
    if (password === '') return fail(texts.passwordRequired)
    setBusy(true)
    try {
      const result = await signIn({ endpoint: way.endpoint, clientId: way.client_id }, email, password)
      if (result.kind === 'done') onDone()
      else onNewPassword(result.session)
    } catch (cause) {
      fail(identityMessage(cause))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className={styles.form} noValidate onSubmit={(event) => void submit(event)}>
      <Account email={email} onBack={onBack} />
      {/* Lets a password manager keep the address together with the password. */}
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        ref={field}
        label={texts.password}
        name="password"
        autoComplete="current-password"
        autoFocus
        error={error}
        onChange={() => setError(undefined)}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={busy}>
        {texts.signIn}
      </Button>
    </form>
  )
}
