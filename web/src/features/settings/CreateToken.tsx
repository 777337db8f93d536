import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText, Select, TextField } from '@/components/Field'
import { TokenDialog } from '@/components/TokenDialog'
import { ownConnectionsQuery } from '@/entities/connection/connections'
import { scopeTexts } from '@/entities/connection/scopes'
import { ApiError, call, errorMessage, type Scope } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { Checkbox } from '@/lib/ui/Checkbox'
import { toastFailure } from '@/lib/ui/toast'
import styles from './ConnectionsPage.module.css'
import { texts } from './texts'

const words = texts.connections.tokens

/** The scopes for scripts. The third scope is for the extension. */
const SCOPES: readonly Scope[] = ['chat', 'documents']
/** The offered validity periods of a token, in days. */
const DAYS = [30, 90, 180, 365]

/** CreateToken creates a personal access token, and shows it once. */
export function CreateToken() {
  const [step, setStep] = useState<'closed' | 'form' | { token: string }>('closed')
  const close = () => setStep('closed')
  return (
    <>
      <Button onClick={() => setStep('form')}>{words.create}</Button>
      {step === 'form' && <FormDialog onClose={close} onCreated={(token) => setStep({ token })} />}
      {typeof step === 'object' && <TokenDialog token={step.token} onClose={close} />}
    </>
  )
}

function FormDialog({ onClose, onCreated }: { onClose: () => void; onCreated: (token: string) => void }) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(['chat'])
  const [days, setDays] = useState(90)
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [requestId] = useState(() => crypto.randomUUID())
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (busy || name.trim() === '' || scopes.length === 0) return
    setBusy(true)
    try {
      const body = {
        request_id: requestId,
        name: name.trim(),
        scopes: [...scopes],
        expires_on: dayAfter(days),
      }
      const { token } = await call('createToken', { body })
      onCreated(token)
      await reload(ownConnectionsQuery.queryKey)
    } catch (cause) {
      setBusy(false)
      if (!(cause instanceof ApiError && cause.status === 409)) {
        return toastFailure(words.notCreated(errorMessage(cause, '')))
      }
      // The token was created, but the response is lost. The user can remove it in the list.
      toastFailure(cause.detail)
      onClose()
      await reload(ownConnectionsQuery.queryKey)
    }
  }
  return (
    <ConfirmDialog
      title={words.create}
      confirm={words.submit}
      form="create-token"
      busy={busy}
      onClose={onClose}
    >
      <form id="create-token" className={styles.form} onSubmit={(event) => void submit(event)} noValidate>
        <TextField
          label={words.name}
          hint={words.nameHint}
          error={tried && name.trim() === '' ? words.nameRequired : undefined}
          value={name}
          maxLength={100}
          autoFocus
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className={styles.scopes}>
          <legend>{words.scopes}</legend>
          {SCOPES.map((scope) => (
            <label key={scope} className={styles.scope}>
              <Checkbox
                checked={scopes.includes(scope)}
                onChange={(event) =>
                  setScopes(
                    event.target.checked ? [...scopes, scope] : scopes.filter((other) => other !== scope),
                  )
                }
              />
              <span>
                {scopeTexts[scope].name}
                <span className={styles.allows}>{scopeTexts[scope].allows}</span>
              </span>
            </label>
          ))}
          <div role="alert">
            {tried && scopes.length === 0 && <FieldErrorText>{words.scopesRequired}</FieldErrorText>}
          </div>
        </fieldset>
        <Select
          label={words.expires}
          value={String(days)}
          onChange={(event) => setDays(Number(event.target.value))}
          options={DAYS.map((choice) => [choice, words.days(choice)])}
        />
      </form>
    </ConfirmDialog>
  )
}

/** dayAfter returns the date in a number of days in Japan's time zone. Tokens expire at the end of a day there. */
function dayAfter(days: number): string {
  const at = new Date(Date.now() + days * 86_400_000)
  return new Intl.DateTimeFormat('sv-SE', { timeZone: 'Asia/Tokyo' }).format(at)
}
