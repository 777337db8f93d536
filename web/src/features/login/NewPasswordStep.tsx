import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import type { Provider } from '@/entities/identity/identity'
import { chooseNewPassword, signIn } from '@/entities/identity/identityAccount'
import { identityMessage, isChallengeOver } from '@/entities/identity/identityMessages'
import { passwordRules } from '@/entities/identity/password'
import type { TokenRecord } from '@/entities/identity/token'
import styles from './steps.module.css'
import { texts } from './texts'
import { useLoginForm } from './useLoginForm'

/** Challenge is the identity provider's request for a new password in place of the temporary one. */
export interface Challenge {
  provider: Provider
  email: string
  /** The temporary password, in memory only. */
  temporary: string
  session: string
}

/** NewPasswordStep requests a new password from an invited user. */
export function NewPasswordStep({
  challenge,
  onDone,
}: {
  challenge: Challenge
  onDone: (record: TokenRecord) => void
}) {
  const form = useLoginForm<'password'>()
  const [password, setPassword] = useState('')
  const session = useRef(challenge.session)
  const owner = { email: challenge.email }

  const choose = async () => {
    const { provider, email, temporary } = challenge
    const answer = () => chooseNewPassword(provider, email, password, session.current)
    const result = await answer().catch(async (cause: unknown) => {
      if (!isChallengeOver(cause)) throw cause
      // The challenge is valid for three minutes. If the user needs longer, start another one.
      const again = await signIn(provider, email, temporary)
      if (again.kind === 'done') return again
      session.current = again.session
      return answer()
    })
    if (result.kind === 'done') return onDone(result.record)
    session.current = result.session
  }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!passwordRules(password, owner).every((rule) => rule.met))
      return form.fail('password', texts.rulesUnmet)
    void form.run(choose, (cause) => ['password', identityMessage(cause, 'new-password')])
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <p className={styles.body}>{texts.newPassword.body}</p>
      <input type="email" name="username" autoComplete="username" value={challenge.email} readOnly hidden />
      <PasswordField
        {...form.field('password')}
        label={texts.newPassword.label}
        hint={<PasswordRules password={password} {...owner} />}
        name="new-password"
        autoComplete="new-password"
        autoFocus
        value={password}
        onChange={(event) => {
          setPassword(event.target.value)
          form.clear()
        }}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.newPassword.submit}
      </Button>
    </form>
  )
}
