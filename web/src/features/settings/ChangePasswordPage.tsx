import { useSuspenseQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { Column } from '@/components/Column'
import { PasswordField } from '@/components/Field'
import { PasswordRules } from '@/components/PasswordRules'
import { changePassword, IdentityError } from '@/lib/identity'
import { identityMessage } from '@/lib/identityMessages'
import { passwordRules } from '@/lib/password'
import { meQuery } from '@/lib/queries'
import { freshToken } from '@/lib/session'
import { toast } from '@/lib/toast'
import styles from './ChangePasswordPage.module.css'
import { texts } from './texts'

/** Changing the password, for those who sign in with one. */
export function ChangePasswordPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  return (
    <Column title={texts.title} home="/home/skill" homeLabel={texts.home}>
      {me.auth_type === 'cognito' ? <Form email={me.email} /> : <Federated />}
    </Column>
  )
}

function Federated() {
  return (
    <div className={styles.form}>
      <p className={styles.body}>{texts.federated}</p>
      <ButtonLink to="/home/skill">{texts.back}</ButtonLink>
    </div>
  )
}

interface Errors {
  current?: string
  proposed?: string
}

function Form({ email }: { email: string }) {
  const navigate = useNavigate()
  const current = useRef<HTMLInputElement>(null)
  const field = useRef<HTMLInputElement>(null)
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
    const previous = current.current?.value ?? ''
    if (previous === '') return fail({ current: texts.currentRequired })
    if (!passwordRules(proposed).every((rule) => rule.met)) return fail({ proposed: texts.rulesUnmet })
    if (previous === proposed) return fail({ proposed: texts.same })
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
        onChange={() => setErrors({})}
      />
      <PasswordField
        ref={field}
        label={texts.proposed}
        name="new-password"
        autoComplete="new-password"
        value={proposed}
        error={errors.proposed}
        onChange={(event) => {
          setProposed(event.target.value)
          setErrors({})
        }}
      />
      <PasswordRules password={proposed} />
      <div className={styles.actions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {texts.submit}
        </Button>
        <ButtonLink to="/home/skill" variant="quiet" size="lg">
          {texts.back}
        </ButtonLink>
      </div>
    </form>
  )
}

// The provider says only "not authorized" for a wrong current password; here it is that field's error.
function errorsOf(cause: unknown): Errors {
  const message = identityMessage(cause)
  if (!(cause instanceof IdentityError)) return { proposed: message }
  if (cause.name === 'InvalidPasswordException') return { proposed: message }
  const wrong = cause.name === 'NotAuthorizedException' && !/attempts exceeded/i.test(cause.message)
  return { current: wrong ? texts.wrong : message }
}
