import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText, TextField } from '@/components/Field'
import { ApiError, call, firstErrorMessage, type SlackConfig, type SlackConfigPutRequest } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { Section } from '../parts/Page'
import { storeSlack } from '../queries'
import saml from '../saml/Saml.module.css'
import { slack } from '../texts'

const words = slack.values

type Name = Exclude<keyof SlackConfigPutRequest, 'policy'>

const fields: ReadonlyArray<{ name: Name; label: string; hint?: string; optional?: boolean }> = [
  { name: 'client_id', label: words.clientId, hint: words.clientIdHint },
  { name: 'client_secret', label: words.clientSecret },
  { name: 'signing_secret', label: words.signingSecret, hint: words.signingSecretHint },
  { name: 'app_token', label: words.appToken, hint: words.appTokenHint, optional: true },
  { name: 'bot_token', label: words.botToken, hint: words.botTokenHint, optional: true },
]

const unchanged: Record<Name, string> = {
  client_id: '',
  client_secret: '',
  signing_secret: '',
  app_token: '',
  bot_token: '',
}

/** The second step: the values from the app's page in Slack. Stored secrets are not shown again. */
export function ValuesSection({ config }: { config: SlackConfig }) {
  const [values, setValues] = useState(unchanged)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const given = fields.filter(({ name }) => values[name].trim() !== '')
    if (given.length === 0) return setError(new ApiError(400, { detail: words.nothing }))
    setBusy(true)
    setError(null)
    try {
      const body = Object.fromEntries(given.map(({ name }) => [name, values[name].trim()]))
      await storeSlack(await call('putSlackConfig', { body }))
      setValues(unchanged)
      toast(words.saved, { tone: 'success' })
    } catch (cause) {
      setError(cause)
    } finally {
      setBusy(false)
    }
  }
  const wrong = (name: Name) => (error instanceof ApiError ? error.field(name) : undefined)
  const placed = fields.some(({ name }) => wrong(name) !== undefined)
  return (
    <Section title={words.title} lead={words.lead}>
      <form
        className={saml.form}
        ref={form}
        noValidate
        autoComplete="off"
        onSubmit={(event) => void submit(event)}
      >
        <div className={saml.group}>
          {fields.map(({ name, label, hint, optional }) => (
            <TextField
              key={name}
              label={label}
              hint={config.credentials[name] ? storedHint(config, name) : hint}
              optional={optional}
              error={wrong(name)}
              className={saml.code}
              type={name === 'client_id' ? 'text' : 'password'}
              autoComplete="off"
              autoCapitalize="off"
              spellCheck={false}
              maxLength={512}
              value={values[name]}
              onChange={(event) => setValues({ ...values, [name]: event.target.value })}
            />
          ))}
        </div>
        <div role="alert">
          {error !== null && !placed && <FieldErrorText>{firstErrorMessage(error)}</FieldErrorText>}
        </div>
        <div className={saml.formActions}>
          <Button type="submit" variant="primary" loading={busy}>
            {words.save}
          </Button>
        </div>
      </form>
    </Section>
  )
}

function storedHint({ credentials }: SlackConfig, name: Name): string {
  return name === 'client_id' ? `${words.stored}（${credentials.client_id}）` : words.stored
}
