import { useState } from 'react'
import { useLoaderData, useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { Column } from '@/components/Column'
import { revoke } from '@/entities/identity/identity'
import type { TokenRecord } from '@/entities/identity/token'
import { ApiError, call } from '@/lib/api'
import { ChallengeStep, challengeTitle } from './ChallengeStep'
import { failurePath, type PendingLink } from './link'
import { PasswordStep } from './PasswordStep'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'

type Step =
  | { name: 'password' }
  | { name: 'challenge'; pending: PendingSignIn }
  | { name: 'question'; record: TokenRecord }

/**
 * LinkPage completes the first single sign-on of an administrator. The administrator enters the password, and agrees
 * that the identity provider may sign them in. The password session is used for this request only and is not stored.
 */
export function LinkPage() {
  const link = useLoaderData<PendingLink>()
  const { email, provider } = link
  const navigate = useNavigate()
  const [step, setStep] = useState<Step>({ name: 'password' })
  const challenged = (pending: PendingSignIn) => setStep({ name: 'challenge', pending })
  const proven = (record: TokenRecord) => setStep({ name: 'question', record })
  return (
    <Column title={step.name === 'challenge' ? challengeTitle(step.pending) : texts.link.title}>
      {step.name === 'password' && (
        <div className={styles.form}>
          <p className={styles.body}>{texts.link.password}</p>
          <PasswordStep
            email={email}
            provider={provider}
            onBack={() => void navigate('/login')}
            onDone={proven}
            onChallenge={challenged}
          />
        </div>
      )}
      {step.name === 'challenge' && (
        <ChallengeStep
          pending={step.pending}
          onDone={proven}
          onNext={challenged}
          onBack={() => setStep({ name: 'password' })}
        />
      )}
      {step.name === 'question' && <Question pending={link} record={step.record} />}
    </Column>
  )
}

function Question({ pending, record }: { pending: PendingLink; record: TokenRecord }) {
  const navigate = useNavigate()
  const [busy, setBusy] = useState(false)
  const leave = async (to: string) => {
    await revoke(record).catch(() => {})
    void navigate(to, { replace: true })
  }
  const agree = async () => {
    setBusy(true)
    try {
      // The owner of the token may differ from this browser's session.
      const { organization_id, code } = await call('confirmSSOLink', {
        body: { organization_id: pending.organizationId, link: pending.link },
        token: record.idToken,
      })
      await leave(`/oauth2/callback?${new URLSearchParams({ organization_id, code })}`)
    } catch (cause) {
      await leave(failurePath(cause instanceof ApiError ? cause : new ApiError(500, {})))
    }
  }
  return (
    <div className={styles.form}>
      <p className={styles.notice}>{texts.link.question}</p>
      <p className={styles.body}>{texts.link.consequence(pending.email)}</p>
      <Button variant="primary" size="lg" wide autoFocus loading={busy} onClick={() => void agree()}>
        {texts.link.agree}
      </Button>
      <Button size="lg" wide disabled={busy} onClick={() => void leave('/login')}>
        {texts.link.decline}
      </Button>
    </div>
  )
}
