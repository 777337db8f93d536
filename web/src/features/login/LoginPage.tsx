import { useState } from 'react'
import { useNavigate } from 'react-router'
import { Column } from '@/components/Column'
import type { TokenRecord } from '@/entities/identity/token'
import { rememberedEndReason } from '@/entities/session/place'
import type { AuthTypeAnswer } from '@/lib/api'
import { AddressStep } from './AddressStep'
import { ChallengeStep, challengeTitle } from './ChallengeStep'
import { Context } from './Context'
import { FederatedStep } from './FederatedStep'
import { NoInvitation } from './NoInvitation'
import { PasskeyButton } from './PasskeyButton'
import { PasswordStep } from './PasswordStep'
import type { PendingSignIn } from './pendingSignIn'
import { providerOf } from './provider'
import { startSession } from './startSession'
import styles from './steps.module.css'
import { texts } from './texts'
import { useGivenEmail } from './useGivenEmail'

type Step =
  | { name: 'address' }
  | { name: 'password' | 'federated'; way: AuthTypeAnswer }
  | { name: 'challenge'; pending: PendingSignIn }

/** LoginPage shows one field at a time. The address is first, because the sign-in method depends on it. */
export function LoginPage() {
  const navigate = useNavigate()
  const [email, setEmail] = useState(useGivenEmail())
  const [ending] = useState(rememberedEndReason)
  const [step, setStep] = useState<Step>({ name: 'address' })

  const done = (record: TokenRecord) => void navigate(startSession(record), { replace: true })
  const restart = () => setStep({ name: 'address' })
  const challenged = (pending: PendingSignIn) => setStep({ name: 'challenge', pending })

  return (
    <Column
      title={step.name === 'challenge' ? challengeTitle(step.pending) : texts.title}
      beside={<Context />}
    >
      {step.name === 'address' && (
        <>
          <AddressStep
            email={email}
            passkeys
            intro={ending && <p className={styles.notice}>{texts.ended[ending]}</p>}
            onNext={(address, way) => {
              setEmail(address)
              setStep({ name: way.auth_type === 'cognito' ? 'password' : 'federated', way })
            }}
          />
          <PasskeyButton autofill onDone={done} />
          <NoInvitation />
        </>
      )}
      {step.name === 'password' && (
        <PasswordStep
          email={email}
          provider={providerOf(step.way)}
          onBack={restart}
          onDone={done}
          onChallenge={challenged}
        />
      )}
      {step.name === 'federated' && <FederatedStep email={email} way={step.way} onBack={restart} />}
      {step.name === 'challenge' && (
        <ChallengeStep pending={step.pending} onDone={done} onNext={challenged} onBack={restart} />
      )}
    </Column>
  )
}
