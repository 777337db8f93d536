import { useState } from 'react'
import { useNavigate } from 'react-router'
import { Column } from '@/components/Column'
import type { AuthTypeAnswer } from '@/lib/api'
import { takePlace } from '@/lib/session'
import { AddressStep } from './AddressStep'
import { FederatedStep } from './FederatedStep'
import { NewPasswordStep } from './NewPasswordStep'
import { PasswordStep } from './PasswordStep'
import { texts } from './texts'

type Step =
  | { name: 'address' }
  | { name: 'password' | 'federated'; way: AuthTypeAnswer }
  | { name: 'new-password'; way: AuthTypeAnswer; session: string }

/** Sign-in, one field at a time: the address first, since it decides how its owner signs in. */
export function LoginPage() {
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [step, setStep] = useState<Step>({ name: 'address' })

  const done = () => void navigate(takePlace(), { replace: true })
  const restart = () => setStep({ name: 'address' })

  return (
    <Column
      title={step.name === 'new-password' ? texts.newPassword.title : texts.title}
      home="/"
      homeLabel={texts.home}
    >
      {step.name === 'address' && (
        <AddressStep
          email={email}
          onNext={(address, way) => {
            setEmail(address)
            setStep({ name: way.auth_type === 'cognito' ? 'password' : 'federated', way })
          }}
        />
      )}
      {step.name === 'password' && (
        <PasswordStep
          email={email}
          way={step.way}
          onBack={restart}
          onDone={done}
          onNewPassword={(session) => setStep({ name: 'new-password', way: step.way, session })}
        />
      )}
      {step.name === 'federated' && <FederatedStep email={email} way={step.way} onBack={restart} />}
      {step.name === 'new-password' && (
        <NewPasswordStep email={email} way={step.way} session={step.session} onDone={done} />
      )}
    </Column>
  )
}
