import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { type AuthTypeAnswer, api } from '@/lib/api'
import { identityMessage } from '@/lib/identityMessages'
import styles from './steps.module.css'
import { texts } from './texts'

/** Asks for the address, and the server how its owner signs in. */
export function AddressStep({
  email,
  onNext,
}: {
  email: string
  onNext: (email: string, way: AuthTypeAnswer) => void
}) {
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)

  const fail = (message: string) => {
    setError(message)
    field.current?.focus()
  }

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const address = (field.current?.value ?? '').trim()
    if (address === '') return fail(texts.emailRequired)
    if (!/^[^\s@]+@[^\s@]+$/.test(address)) return fail(texts.emailInvalid)
    setBusy(true)
    try {
      onNext(address, await api.authType(address))
    } catch (cause) {
      fail(identityMessage(cause))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className={styles.form} noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        ref={field}
        label={texts.email}
        type="email"
        name="username"
        autoComplete="username"
        inputMode="email"
        autoFocus
        defaultValue={email}
        placeholder={texts.emailPlaceholder}
        error={error}
        onChange={() => setError(undefined)}
      />
      <Button type="submit" variant="primary" size="lg" wide loading={busy}>
        {texts.next}
      </Button>
    </form>
  )
}
