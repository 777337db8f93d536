import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import { type Challenge, chooseNewPassword, type SignIn } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { passwordRules } from '@/entities/identity/password'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'
import { useLoginForm } from './useLoginForm'

/** NewPasswordStep requests a new password from an invited user. */
export function NewPasswordStep({
  pending: { provider, email },
  answer,
}: {
  pending: PendingSignIn
  /** `password` is the password after a successful answer. */
  answer: (respond: (challenge: Challenge) => Promise<SignIn>, password: string) => Promise<void>
}) {
  const form = useLoginForm<'password'>()
  const [password, setPassword] = useState('')
  const owner = { email }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!passwordRules(password, owner).every((rule) => rule.met))
      return form.fail('password', texts.rulesUnmet)
    void form.run(
      () => answer((challenge) => chooseNewPassword(provider, password, challenge), password),
      (cause) => ['password', identityMessage(cause, 'new-password')],
    )
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <p className={styles.body}>{texts.newPassword.body}</p>
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
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
