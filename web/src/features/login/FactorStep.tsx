import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { TextField } from '@/components/Field'
import { readCode } from '@/entities/identity/code'
import {
  answerFactor,
  answerRecovery,
  type Challenge,
  type SignIn,
} from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { useInputs } from '@/lib/ui/inputs'
import { Account } from './Account'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'

const words = texts.factor

/** FactorStep requests the code of the authenticator app, or a recovery code. */
export function FactorStep({
  pending,
  answer,
  onBack,
  onPasskey,
}: {
  pending: PendingSignIn
  answer: (respond: (challenge: Challenge) => Promise<SignIn>) => Promise<void>
  onBack?: (() => void) | undefined
  /** The user has a passkey instead of an app, so that the step requests only a recovery code. */
  onPasskey?: () => void
}) {
  const { provider, email, challenge } = pending
  const form = useInputs<'code'>()
  const [recovery, setRecovery] = useState(onPasskey !== undefined)
  const [trust, setTrust] = useState(false)

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = form.value('code')
    const code = recovery ? entered.trim() : readCode(entered)
    if (code === '') return form.fail('code', recovery ? words.recoveryRequired : words.codeInvalid)
    void form.run(
      () =>
        answer((current) =>
          recovery ? answerRecovery(provider, code, current) : answerFactor(provider, code, trust, current),
        ),
      (cause) => ['code', identityMessage(cause, recovery ? 'recovery-code' : 'factor')],
    )
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <Account email={email} onBack={onBack} />
      <p className={styles.body}>{recovery ? words.recoveryBody : words.body}</p>
      <TextField
        key={String(recovery)}
        {...form.field('code')}
        label={recovery ? words.recoveryCode : words.code}
        hint={recovery ? words.recoveryHint : undefined}
        name={recovery ? 'recovery-code' : 'code'}
        autoComplete={recovery ? 'off' : 'one-time-code'}
        inputMode={recovery ? 'text' : 'numeric'}
        autoCapitalize="off"
        spellCheck={false}
        autoFocus
      />
      {challenge.recovery && !recovery && (
        <Choice label={words.trust} hint={words.trustHint} checked={trust} onChange={setTrust} />
      )}
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.signIn}
      </Button>
      {challenge.recovery && (
        <Button
          className={styles.link}
          variant="link"
          onClick={() => {
            if (onPasskey) return onPasskey()
            form.clear()
            setRecovery(!recovery)
          }}
        >
          {onPasskey ? texts.passkey.use : recovery ? words.useCode : words.useRecovery}
        </Button>
      )}
      <p className={styles.small}>
        {onPasskey ? texts.passkey.lost : challenge.recovery ? words.lost : words.lostApp}
      </p>
    </form>
  )
}
