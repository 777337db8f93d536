import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { NewPasswordField } from '@/components/PasswordRules'
import { readCode } from '@/entities/identity/code'
import { confirmForgotPassword, forgotPassword } from '@/entities/identity/identityAccount'
import { identityMessage, isAboutNewPassword } from '@/entities/identity/identityMessages'
import { meetsRules } from '@/entities/identity/password'
import { useInputs } from '@/lib/ui/inputs'
import { Account } from './Account'
import { findProvider } from './provider'
import styles from './steps.module.css'
import { texts } from './texts'
import { useAttempt } from './useAttempt'
import { useCountdown } from './useCountdown'

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
  const form = useInputs<'code' | 'password'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = form.value('code')
    if (entered.trim() === '') return form.fail('code', texts.reset.codeRequired)
    const valid = readCode(entered)
    if (valid === '') return form.fail('code', texts.reset.codeInvalid)
    const password = form.value('password')
    if (!meetsRules(password, { email })) return form.fail('password', texts.rulesUnmet)
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
      />
      <NewPasswordField
        {...form.field('password')}
        label={texts.reset.newPassword}
        owner={{ email }}
        autoFocus={code !== ''}
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
  const { busy, attempt, alert } = useAttempt('send-code')
  const [sent, setSent] = useState(false)
  const resend = () => {
    setSent(false)
    attempt(async () => {
      await forgotPassword(await findProvider(email), email)
      setSent(true)
      pause()
    })
  }
  return (
    <div className={styles.resend}>
      <p className={styles.small}>{texts.reset.missing}</p>
      <Button variant="link" loading={busy} disabled={left > 0} onClick={resend}>
        {left > 0 ? texts.reset.resendIn(left) : texts.reset.resend}
      </Button>
      <p className={styles.small} role="status">
        {sent && texts.reset.resent}
      </p>
      {alert}
    </div>
  )
}
