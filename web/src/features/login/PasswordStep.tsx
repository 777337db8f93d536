import type { FormEvent } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import type { Provider } from '@/entities/identity/identity'
import { signIn } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import type { TokenRecord } from '@/entities/identity/token'
import { useInputs } from '@/lib/ui/inputs'
import { Account } from './Account'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'

/** PasswordStep requests the password, and signs in at the identity provider. */
export function PasswordStep({
  email,
  provider,
  askFactor = false,
  onBack,
  onDone,
  onChallenge,
}: {
  email: string
  provider: Provider
  /** Requests the second factor on a trusted device as well. */
  askFactor?: boolean
  /** Without it the account is fixed, and no link leads to another page. */
  onBack?: () => void
  onDone: (record: TokenRecord) => unknown
  /** A challenge follows. */
  onChallenge: (pending: PendingSignIn) => void
}) {
  const form = useInputs<'password'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const password = form.value('password')
    if (password === '') return form.fail('password', texts.passwordRequired)
    const work = async () => {
      const result = await signIn(provider, email, password, { askFactor })
      if (result.kind === 'done') onDone(result.record)
      else onChallenge({ provider, email, password, challenge: result })
    }
    void form.run(work, (cause) => ['password', identityMessage(cause)])
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <Account email={email} onBack={onBack} />
      {/* For password managers, which store the address with the password. */}
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        {...form.field('password')}
        label={texts.password}
        name="password"
        autoComplete="current-password"
        autoFocus
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.signIn}
      </Button>
      {onBack && (
        <ButtonLink className={styles.link} variant="link" to="/reset/password" state={{ email }}>
          {texts.forgotten}
        </ButtonLink>
      )}
    </form>
  )
}
