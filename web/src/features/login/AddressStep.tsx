import type { FormEvent, ReactNode } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { identityMessage, type Purpose } from '@/entities/identity/identityMessages'
import { type AuthTypeAnswer, call } from '@/lib/api'
import { useInputs } from '@/lib/ui/inputs'
import { readAddress } from './address'
import styles from './steps.module.css'
import { texts } from './texts'

/** AddressStep requests the mail address, and fetches the sign-in method for it from the server. */
export function AddressStep({
  email,
  intro,
  submit: label = texts.next,
  purpose = 'sign-in',
  passkeys = false,
  onNext,
}: {
  email: string
  /** The content above the field. */
  intro?: ReactNode
  submit?: string
  purpose?: Purpose
  /** Passkeys are offered in the suggestions of the field. */
  passkeys?: boolean
  /** Continues with the address. An error is shown under the field. */
  onNext: (email: string, way: AuthTypeAnswer) => void | Promise<void>
}) {
  const form = useInputs<'email'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entered = readAddress(form.value('email'))
    if (entered.error !== undefined) return form.fail('email', entered.error)
    void form.run(
      async () => onNext(entered.address, await call('authType', { body: { email: entered.address } })),
      (cause) => ['email', identityMessage(cause, purpose)],
    )
  }

  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      {intro}
      <TextField
        {...form.field('email')}
        label={texts.email}
        type="email"
        name="username"
        autoComplete={passkeys ? 'username webauthn' : 'username'}
        inputMode="email"
        autoFocus
        defaultValue={email}
        placeholder={texts.emailPlaceholder}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={form.busy}>
        {label}
      </Button>
    </form>
  )
}
