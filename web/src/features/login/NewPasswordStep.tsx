import type { FormEvent } from 'react'
import { Button } from '@/components/Button'
import { NewPasswordField } from '@/components/PasswordRules'
import { type Challenge, chooseNewPassword, type SignIn } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { meetsRules } from '@/entities/identity/password'
import { useInputs } from '@/lib/ui/inputs'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'

/** NewPasswordStep requests a new password from an invited user. */
export function NewPasswordStep({
  pending: { provider, email },
  answer,
}: {
  pending: PendingSignIn
  /** `password` is the password after a successful answer. */
  answer: (respond: (challenge: Challenge) => Promise<SignIn>, password: string) => Promise<void>
}) {
  const form = useInputs<'password'>()
  const owner = { email }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const password = form.value('password')
    if (!meetsRules(password, owner)) return form.fail('password', texts.rulesUnmet)
    void form.run(
      () => answer((challenge) => chooseNewPassword(provider, password, challenge), password),
      (cause) => ['password', identityMessage(cause, 'new-password')],
    )
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <p className={styles.body}>{texts.newPassword.body}</p>
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <NewPasswordField {...form.field('password')} label={texts.newPassword.label} owner={owner} autoFocus />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.newPassword.submit}
      </Button>
    </form>
  )
}
