import { useState } from 'react'
import { useNavigate, useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { Column } from '@/components/Column'
import { readCode } from '@/entities/identity/code'
import { forgotPassword } from '@/entities/identity/identityAccount'
import { clearToken, readToken } from '@/entities/identity/token'
import type { AuthTypeAnswer } from '@/lib/api'
import { emailOf } from '@/lib/api/jwt'
import { Account } from './Account'
import { AddressStep } from './AddressStep'
import { CodeStep } from './CodeStep'
import { providerOf } from './provider'
import styles from './steps.module.css'
import { texts } from './texts'
import { useAttempt } from './useAttempt'
import { useGivenEmail } from './useGivenEmail'

type Step =
  | { name: 'address' }
  | { name: 'federated'; way: AuthTypeAnswer }
  | { name: 'code'; sent: boolean }
  | { name: 'done' }

/** ResetPasswordPage sends a code by mail, and then sets a new password with the code. */
export function ResetPasswordPage() {
  const [query] = useSearchParams()
  const code = readCode(query.get('code') ?? '')
  const [email, setEmail] = useState(useGivenEmail())
  // The link in the mail has the address and the code, so only the password is requested.
  const [step, setStep] = useState<Step>(
    email !== '' && code !== '' ? { name: 'code', sent: false } : { name: 'address' },
  )

  const send = async (address: string, way: AuthTypeAnswer) => {
    await forgotPassword(providerOf(way), address)
    setStep({ name: 'code', sent: true })
  }
  const restart = () => setStep({ name: 'address' })
  const done = () => {
    // The identity provider has ended all sessions of this account, so a stored session is invalid.
    const stored = readToken()
    if (stored && emailOf(stored.idToken).toLowerCase() === email.toLowerCase()) clearToken()
    setStep({ name: 'done' })
  }

  return (
    <Column title={step.name === 'done' ? texts.reset.done.title : texts.reset.title}>
      {step.name === 'address' && (
        <AddressStep
          email={email}
          intro={<p className={styles.body}>{texts.reset.body}</p>}
          submit={texts.reset.send}
          purpose="send-code"
          onNext={(address, way) => {
            setEmail(address)
            if (way.auth_type === 'cognito') return send(address, way)
            setStep({ name: 'federated', way })
          }}
        />
      )}
      {step.name === 'federated' && (
        <Federated email={email} onBack={restart} onSend={() => send(email, step.way)} />
      )}
      {step.name === 'code' && (
        <CodeStep email={email} code={code} sent={step.sent} onBack={restart} onDone={done} />
      )}
      {step.name === 'done' && (
        <div className={styles.form}>
          <p className={styles.body} role="status">
            {texts.reset.done.body}
          </p>
          <ToSignIn email={email}>{texts.signIn}</ToSignIn>
        </div>
      )}
    </Column>
  )
}

/** Federated is for organizations with single sign-on. Their super-admins have a password, most members do not. */
function Federated({
  email,
  onBack,
  onSend,
}: {
  email: string
  onBack: () => void
  onSend: () => Promise<void>
}) {
  const { busy, attempt, alert } = useAttempt('send-code')
  return (
    <div className={styles.form}>
      <Account email={email} onBack={onBack} />
      <p className={styles.body}>{texts.reset.federated}</p>
      <ToSignIn email={email}>{texts.toSignIn}</ToSignIn>
      <Button className={styles.link} variant="link" loading={busy} onClick={() => attempt(onSend)}>
        {texts.reset.asSuperAdmin}
      </Button>
      {alert}
    </div>
  )
}

function ToSignIn({ email, children }: { email: string; children: string }) {
  const navigate = useNavigate()
  const go = () => void navigate('/login', { state: { email } })
  return (
    <Button variant="primary" size="lg" wide autoFocus onClick={go}>
      {children}
    </Button>
  )
}
