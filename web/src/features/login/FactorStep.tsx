import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { readCode } from '@/entities/identity/code'
import { answerFactor, type SignIn } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { Account } from './Account'
import type { PendingSignIn } from './pendingSignIn'
import styles from './steps.module.css'
import { texts } from './texts'
import { useLoginForm } from './useLoginForm'

const words = texts.factor

/** FactorStep requests the code of the authenticator app, or a recovery code. */
export function FactorStep({
  pending,
  answer,
  onBack,
}: {
  pending: PendingSignIn
  answer: (respond: (session: string) => Promise<SignIn>) => Promise<void>
  onBack: () => void
}) {
  const { provider, email, challenge } = pending
  const form = useLoginForm<'code'>()
  const [recovery, setRecovery] = useState(false)

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = form.value('code')
    const code = recovery ? entered.trim() : readCode(entered)
    if (code === '') return form.fail('code', recovery ? words.recoveryRequired : words.codeInvalid)
    void form.run(
      () => answer((session) => answerFactor(provider, email, code, recovery, session)),
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
        onChange={form.clear}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.signIn}
      </Button>
      {challenge.recovery && (
        <Button
          className={styles.link}
          variant="link"
          onClick={() => {
            form.clear()
            setRecovery(!recovery)
          }}
        >
          {recovery ? words.useCode : words.useRecovery}
        </Button>
      )}
      <p className={styles.small}>{words.lost}</p>
    </form>
  )
}
