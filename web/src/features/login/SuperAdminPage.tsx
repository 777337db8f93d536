import { type FormEvent, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { Column } from '@/components/Column'
import { PasswordField, TextField } from '@/components/Field'
import { signIn } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import type { TokenRecord } from '@/entities/identity/token'
import { ApiError } from '@/lib/api'
import { useInputs } from '@/lib/ui/inputs'
import { readAddress } from './address'
import { ChallengeStep, challengeTitle } from './ChallengeStep'
import { PasskeyButton } from './PasskeyButton'
import type { PendingSignIn } from './pendingSignIn'
import { findProvider } from './provider'
import { startSession } from './startSession'
import styles from './steps.module.css'
import { admitSuperAdmin } from './superAdmin'
import { texts } from './texts'
import { useGivenEmail } from './useGivenEmail'

/**
 * SuperAdminPage signs an organization's super-admin in by password or passkey, even if the organization uses single
 * sign-on.
 */
export function SuperAdminPage() {
  const navigate = useNavigate()
  const [pending, setPending] = useState<PendingSignIn>()
  const [refusal, setRefusal] = useState('')

  const done = async (record: TokenRecord) => {
    setRefusal('')
    try {
      if (await admitSuperAdmin(record)) return void navigate(startSession(record), { replace: true })
      setRefusal(texts.superAdmin.refused)
    } catch (cause) {
      const gone = cause instanceof ApiError && cause.status === 401
      setRefusal(gone ? texts.superAdmin.suspended : identityMessage(cause))
    }
    setPending(undefined)
  }

  return (
    <Column title={pending ? challengeTitle(pending) : texts.superAdmin.title}>
      {pending ? (
        <ChallengeStep
          pending={pending}
          onDone={done}
          onNext={setPending}
          onBack={() => setPending(undefined)}
        />
      ) : (
        <>
          <Credentials refusal={refusal} onDone={done} onChallenge={setPending} />
          <PasskeyButton autofill onDone={done} />
        </>
      )}
    </Column>
  )
}

function Credentials({
  refusal,
  onDone,
  onChallenge,
}: {
  refusal: string
  onDone: (record: TokenRecord) => Promise<void>
  onChallenge: (pending: PendingSignIn) => void
}) {
  const given = useGivenEmail()
  const form = useInputs<'email' | 'password'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = readAddress(form.value('email'))
    if (entered.error !== undefined) return form.fail('email', entered.error)
    const email = entered.address
    const password = form.value('password')
    if (password === '') return form.fail('password', texts.passwordRequired)
    const work = async () => {
      const provider = await findProvider(email)
      const result = await signIn(provider, email, password)
      if (result.kind === 'done') await onDone(result.record)
      else onChallenge({ provider, email, password, challenge: result })
    }
    void form.run(work, (cause) => ['password', identityMessage(cause)])
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <p className={styles.body}>{texts.superAdmin.body}</p>
      <div role="alert">{refusal && <p className={styles.notice}>{refusal}</p>}</div>
      <TextField
        {...form.field('email')}
        label={texts.email}
        type="email"
        name="username"
        autoComplete="username webauthn"
        inputMode="email"
        autoFocus={given === ''}
        defaultValue={given}
        placeholder={texts.emailPlaceholder}
      />
      <PasswordField
        {...form.field('password')}
        label={texts.password}
        name="password"
        autoComplete="current-password"
        autoFocus={given !== ''}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.signIn}
      </Button>
      <div className={styles.links}>
        <ButtonLink variant="link" to="/reset/password">
          {texts.forgotten}
        </ButtonLink>
        <ButtonLink variant="link" to="/login">
          {texts.superAdmin.usual}
        </ButtonLink>
      </div>
    </form>
  )
}
