import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText, PasswordField, TextField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import { readCode } from '@/entities/identity/code'
import { confirmForgotPassword, forgotPassword } from '@/entities/identity/identityAccount'
import { identityMessage, isAboutNewPassword } from '@/entities/identity/identityMessages'
import { passwordRules } from '@/entities/identity/password'
import { Account } from './Account'
import { findProvider } from './provider'
import styles from './steps.module.css'
import { texts } from './texts'
import { useCountdown } from './useCountdown'
import { useLoginForm } from './useLoginForm'

/** PAUSE is the wait before another code can be requested, in seconds. Mails may arrive late. */
const PAUSE = 60

/** CodeStep requests the code from the mail and the new password. */
export function CodeStep({
  email,
  code,
  sent,
  onBack,
  onDone,
}: {
  email: string
  /** The code from the link in the mail, or ''. */
  code: string
  /** Whether this page has just sent a code. */
  sent: boolean
  onBack: () => void
  onDone: () => void
}) {
  const form = useLoginForm<'code' | 'password'>()
  const [password, setPassword] = useState('')

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = form.value('code')
    if (entered.trim() === '') return form.fail('code', texts.reset.codeRequired)
    const valid = readCode(entered)
    if (valid === '') return form.fail('code', texts.reset.codeInvalid)
    if (!passwordRules(password, { email }).every((rule) => rule.met))
      return form.fail('password', texts.rulesUnmet)
    const work = async () => {
      await confirmForgotPassword(await findProvider(email), email, valid, password)
      onDone()
    }
    void form.run(work, (cause) => [
      isAboutNewPassword(cause) ? 'password' : 'code',
      identityMessage(cause, 'confirm-code'),
    ])
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <Account email={email} onBack={onBack} />
      <p className={styles.body}>{sent ? texts.reset.sent(email) : texts.reset.fromMail}</p>
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <TextField
        {...form.field('code')}
        label={texts.reset.code}
        hint={texts.reset.codeHint}
        name="code"
        autoComplete="one-time-code"
        inputMode="numeric"
        autoFocus={code === ''}
        defaultValue={code}
        onChange={form.clear}
      />
      <PasswordField
        {...form.field('password')}
        label={texts.reset.newPassword}
        hint={<PasswordRules password={password} email={email} />}
        name="new-password"
        autoComplete="new-password"
        autoFocus={code !== ''}
        value={password}
        onChange={(event) => {
          setPassword(event.target.value)
          form.clear()
        }}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {texts.reset.submit}
      </Button>
      <Resend email={email} paused={sent} />
    </form>
  )
}

/** Resend sends another code after a pause. */
function Resend({ email, paused }: { email: string; paused: boolean }) {
  const [left, pause] = useCountdown(PAUSE, paused)
  const [busy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<{ sent: boolean; error: string }>({ sent: false, error: '' })

  const resend = async () => {
    setBusy(true)
    try {
      await forgotPassword(await findProvider(email), email)
      setOutcome({ sent: true, error: '' })
      pause()
    } catch (cause) {
      setOutcome({ sent: false, error: identityMessage(cause, 'send-code') })
    } finally {
      setBusy(false)
    }
  }

  return (
    <div className={styles.resend}>
      <p className={styles.small}>{texts.reset.missing}</p>
      <Button variant="link" loading={busy} disabled={left > 0} onClick={() => void resend()}>
        {left > 0 ? texts.reset.resendIn(left) : texts.reset.resend}
      </Button>
      <p className={styles.small} role="status">
        {outcome.sent && texts.reset.resent}
      </p>
      <div role="alert">{outcome.error && <FieldErrorText>{outcome.error}</FieldErrorText>}</div>
    </div>
  )
}
