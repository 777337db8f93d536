import { useSuspenseQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { PasswordField } from '@/components/Field'
import { NewPasswordField } from '@/components/PasswordRules'
import { changePassword } from '@/entities/identity/identityAccount'
import { identityMessage, isAboutNewPassword } from '@/entities/identity/identityMessages'
import { meetsRules } from '@/entities/identity/password'
import { freshToken } from '@/entities/session/session'
import { meQuery } from '@/lib/api/queries'
import { useInputs } from '@/lib/ui/inputs'
import { toast } from '@/lib/ui/toast'
import styles from './ChangePasswordPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

/** ChangePasswordPage changes the password of users who sign in with one. */
export function ChangePasswordPage() {
  const navigate = useNavigate()
  const { email, name } = useSuspenseQuery(meQuery).data
  const [previous, setPrevious] = useState('')
  const { busy, fail, clear, field, value, run } = useInputs<'current' | 'proposed'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const proposed = value('proposed')
    if (previous === '') return fail('current', texts.currentRequired)
    if (!meetsRules(proposed, { email, name })) return fail('proposed', texts.rulesUnmet)
    if (!meetsRules(proposed, { previous })) return fail('proposed', texts.same)
    const change = async () => {
      await changePassword(await freshToken(), previous, proposed)
      toast(texts.done, { tone: 'success' })
      void navigate('/home/skill')
    }
    void run(change, (cause) => [
      isAboutNewPassword(cause) ? 'proposed' : 'current',
      identityMessage(cause, 'change-password'),
    ])
  }

  return (
    <SettingPage title={texts.title}>
      <form className={styles.form} noValidate onSubmit={submit}>
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          {...field('current')}
          label={texts.current}
          name="current-password"
          autoComplete="current-password"
          value={previous}
          onChange={(event) => {
            setPrevious(event.target.value)
            clear()
          }}
        />
        <NewPasswordField {...field('proposed')} label={texts.proposed} owner={{ email, name, previous }} />
        <div className={styles.actions}>
          <Button type="submit" variant="primary" size="lg" loading={busy}>
            {texts.submit}
          </Button>
        </div>
      </form>
    </SettingPage>
  )
}
