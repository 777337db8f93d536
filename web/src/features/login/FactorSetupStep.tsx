import { type ReactNode, useState } from 'react'
import { Button } from '@/components/Button'
import { FactorSetup } from '@/components/FactorSetup'
import { RecoveryCodes } from '@/components/RecoveryCodes'
import { createRecoveryCodes, finishFactorSetup, type SignIn } from '@/entities/identity/identityAccount'
import { passkeysSupported } from '@/entities/identity/passkeySupport'
import { toast } from '@/lib/ui/toast'
import { Account } from './Account'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'
import { useAttempt } from './useAttempt'

const words = texts.factorSetup

interface FactorSetupStepProps {
  pending: PendingSignIn
  conclude: (result: SignIn) => Promise<void>
  onBack?: (() => void) | undefined
}

/** FactorSetupStep sets up the second factor that the organization requires, and shows the recovery codes. */
export function FactorSetupStep({ pending, conclude, onBack }: FactorSetupStepProps) {
  const { provider, email, challenge } = pending
  const canChoose = challenge.passkey === true && passkeysSupported()
  const [app, setApp] = useState(!canChoose)
  const [ready, setReady] = useState<{ result: SignIn; codes: string[] }>()

  const finish = async (session: string) => {
    const result = await finishFactorSetup(provider, { ...challenge, session })
    if (result.kind !== 'done' || !challenge.recovery) return conclude(result)
    try {
      setReady({ result, codes: await createRecoveryCodes(result.record) })
    } catch {
      // The factor is set up. The codes can be created later.
      toast(words.codesFailed, { tone: 'danger' })
      await conclude(result)
    }
  }
  if (ready) return <Codes codes={ready.codes} onSaved={() => conclude(ready.result)} />
  return (
    <div className={styles.form}>
      <Account email={email} onBack={onBack} />
      {app ? (
        <>
          <p className={styles.body}>{words.appBody}</p>
          <FactorSetup
            endpoint={provider.endpoint}
            holder={{ Session: challenge.session }}
            email={email}
            submit={words.submit}
            onVerified={finish}
          />
          {canChoose && (
            <Button className={styles.link} variant="link" onClick={() => setApp(false)}>
              {words.usePasskey}
            </Button>
          )}
        </>
      ) : (
        <Choice pending={pending} onCreated={finish} onApp={() => setApp(true)} />
      )}
    </div>
  )
}

interface ChoiceProps {
  pending: PendingSignIn
  /** `session` ends the challenge. */
  onCreated: (session: string) => Promise<void>
  onApp: () => void
}

/** Choice creates a passkey, or switches to the authenticator app. */
function Choice({ pending: { provider, challenge }, onCreated, onApp }: ChoiceProps) {
  const { busy, attempt, alert } = useAttempt('passkey')
  const create = () =>
    attempt(async () => {
      const { createPasskey } = await import('@/entities/identity/passkey')
      await onCreated(await createPasskey(provider.endpoint, { Session: challenge.session }))
    })
  return (
    <>
      <p className={styles.body}>{words.body}</p>
      <Option hint={words.passkeyHint}>
        <Button variant="primary" size="lg" wide autoFocus loading={busy} onClick={create}>
          {words.passkey}
        </Button>
      </Option>
      {alert}
      <Option hint={words.appHint}>
        <Button size="lg" wide disabled={busy} onClick={onApp}>
          {words.app}
        </Button>
      </Option>
    </>
  )
}

function Option({ hint, children }: { hint: string; children: ReactNode }) {
  return (
    <div className={styles.option}>
      {children}
      <p className={styles.small}>{hint}</p>
    </div>
  )
}

/** Codes shows the recovery codes before the first page of the app. */
function Codes({ codes, onSaved }: { codes: string[]; onSaved: () => Promise<void> }) {
  const { busy, attempt, alert } = useAttempt()
  return (
    <div className={styles.form}>
      <p className={styles.body} role="status">
        {words.done}
      </p>
      <RecoveryCodes codes={codes} />
      <Button variant="primary" size="lg" wide loading={busy} onClick={() => attempt(onSaved)}>
        {words.saved}
      </Button>
      {alert}
    </div>
  )
}
