import { useSuspenseQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import { changePassword } from '@/entities/identity/identityAccount'
import { identityMessage, isAboutNewPassword } from '@/entities/identity/identityMessages'
import { passwordRules } from '@/entities/identity/password'
import { freshToken } from '@/entities/session/session'
import { meQuery } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import styles from './ChangePasswordPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

/** ChangePasswordPage changes the password of users who sign in with one. */
export function ChangePasswordPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  return (
    <SettingPage title={texts.title}>
      <Form email={me.email} />
    </SettingPage>
  )
}

interface Errors {
  current?: string
  proposed?: string
}

function Form({ email }: { email: string }) {
  const navigate = useNavigate()
  const { name } = useSuspenseQuery(meQuery).data
  const current = useRef<HTMLInputElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const [previous, setPrevious] = useState('')
  const [proposed, setProposed] = useState('')
  const [errors, setErrors] = useState<Errors>({})
  const [busy, setBusy] = useState(false)

  const fail = (next: Errors) => {
    setErrors(next)
    ;(next.current ? current : field).current?.focus()
  }

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    if (previous === '') return fail({ current: texts.currentRequired })
    if (!passwordRules(proposed, { email, name }).every((rule) => rule.met))
      return fail({ proposed: texts.rulesUnmet })
    if (!passwordRules(proposed, { previous }).every((rule) => rule.met))
      return fail({ proposed: texts.same })
    setBusy(true)
    try {
      await changePassword(await freshToken(), previous, proposed)
      toast(texts.done, { tone: 'success' })
      void navigate('/home/skill')
    } catch (cause) {
      fail(errorsOf(cause))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className={styles.form} noValidate onSubmit={(event) => void submit(event)}>
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        ref={current}
        label={texts.current}
        name="current-password"
        autoComplete="current-password"
        error={errors.current}
        value={previous}
        onChange={(event) => {
          setPrevious(event.target.value)
          setErrors({})
        }}
      />
      <PasswordField
        ref={field}
        label={texts.proposed}
        hint={<PasswordRules password={proposed} email={email} name={name} previous={previous} />}
        name="new-password"
        autoComplete="new-password"
        value={proposed}
        error={errors.proposed}
        onChange={(event) => {
          setProposed(event.target.value)
          setErrors({})
        }}
      />
      <div className={styles.actions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {texts.submit}
        </Button>
      </div>
    </form>
  )
}

// Errors about the new password are shown under it; all others are about the current one.
function errorsOf(cause: unknown): Errors {
  const message = identityMessage(cause, 'change-password')
  return isAboutNewPassword(cause) ? { proposed: message } : { current: message }
}
