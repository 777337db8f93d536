import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import type { AuthTypeAnswer } from '@/lib/api'
import { chooseNewPassword } from '@/lib/identity'
import { identityMessage } from '@/lib/identityMessages'
import { passwordRules } from '@/lib/password'
import styles from './steps.module.css'
import { texts } from './texts'

/** An invited user chooses a password of their own. */
export function NewPasswordStep({
  email,
  way,
  session,
  onDone,
}: {
  email: string
  way: AuthTypeAnswer
  session: string
  onDone: () => void
}) {
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const challenge = useRef(session)
  const field = useRef<HTMLInputElement>(null)

  const fail = (message: string) => {
    setError(message)
    field.current?.focus()
  }

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    if (!passwordRules(password).every((rule) => rule.met)) return fail(texts.newPassword.rulesUnmet)
    setBusy(true)
    try {
      const provider = { endpoint: way.endpoint, clientId: way.client_id }
      const result = await chooseNewPassword(provider, email, password, challenge.current)
      if (result.kind === 'done') return onDone()
      challenge.current = result.session
    } catch (cause) {
      fail(identityMessage(cause))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className={styles.form} noValidate onSubmit={(event) => void submit(event)}>
      <p className={styles.body}>{texts.newPassword.body}</p>
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        ref={field}
        label={texts.newPassword.label}
        name="new-password"
        autoComplete="new-password"
        autoFocus
        value={password}
        error={error}
        onChange={(event) => {
          setPassword(event.target.value)
          setError(undefined)
        }}
      />
      <PasswordRules password={password} />
      <Button type="submit" variant="primary" size="lg" wide loading={busy}>
        {texts.newPassword.submit}
      </Button>
    </form>
  )
}
