import { useState } from 'react'
import { Button } from '@/components/Button'
import type { Challenge, SignIn } from '@/entities/identity/identityAccount'
import { Account } from './Account'
import { FactorStep } from './FactorStep'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'
import { useAttempt } from './useAttempt'

const words = texts.passkey

/** PasskeyStep requests a passkey after the password, or a recovery code. */
export function PasskeyStep({
  pending,
  answer,
  onBack,
}: {
  pending: PendingSignIn
  answer: (respond: (challenge: Challenge) => Promise<SignIn>) => Promise<void>
  onBack?: (() => void) | undefined
}) {
  const { provider, email } = pending
  const [recovery, setRecovery] = useState(false)
  const { busy, attempt, alert } = useAttempt('passkey')
  if (recovery)
    return (
      <FactorStep pending={pending} answer={answer} onBack={onBack} onPasskey={() => setRecovery(false)} />
    )
  const submit = () =>
    attempt(async () => {
      const { answerPasskey } = await import('@/entities/identity/passkey')
      await answer((challenge) => answerPasskey(provider, challenge))
    })
  return (
    <div className={styles.form}>
      <Account email={email} onBack={onBack} />
      <p className={styles.body}>{words.body}</p>
      <Button variant="primary" size="lg" wide autoFocus loading={busy} onClick={submit}>
        {words.signIn}
      </Button>
      {alert}
      <Button className={styles.link} variant="link" onClick={() => setRecovery(true)}>
        {words.useRecovery}
      </Button>
      <p className={styles.small}>{words.lost}</p>
    </div>
  )
}
