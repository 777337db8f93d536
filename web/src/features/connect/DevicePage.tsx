import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { Column } from '@/components/Column'
import { TextField } from '@/components/Field'
import { call, type DeviceRequested, errorMessage } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import styles from './connect.module.css'
import { Facts } from './Facts'
import { texts } from './texts'

const words = texts.device

type Step =
  | { name: 'code' }
  | { name: 'question'; asked: DeviceRequested }
  | { name: 'done'; allowed: boolean }

/** DevicePage connects a device. The user enters or confirms the device's code, and then allows or denies access. */
export function DevicePage() {
  const [search] = useSearchParams()
  const [code, setCode] = useState(search.get('user_code') ?? '')
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const [step, setStep] = useState<Step>({ name: 'code' })

  const attempt = async (act: () => Promise<Step>) => {
    setBusy(true)
    setError('')
    try {
      setStep(await act())
    } catch (cause) {
      setStep({ name: 'code' })
      setError(errorMessage(cause, texts.notAnswered('')))
    } finally {
      setBusy(false)
    }
  }
  const look = (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    if (code.trim() === '') setError(words.required)
    else void attempt(async () => ({ name: 'question', asked: await call('getDevice', { user_code: code }) }))
  }
  const answer = (allow: boolean) =>
    attempt(async () => {
      await call('answerDevice', { body: { user_code: code, allow } })
      return { name: 'done', allowed: allow }
    })

  return (
    <Column title={words.title} home="/home/skill" homeLabel={texts.home}>
      {step.name === 'code' && (
        <form className={styles.page} onSubmit={look} noValidate>
          <p className={styles.small}>{words.lead}</p>
          <TextField
            label={words.code}
            value={code}
            error={error}
            autoFocus
            autoComplete="one-time-code"
            autoCapitalize="characters"
            spellCheck={false}
            placeholder="XXXX-XXXX"
            maxLength={32}
            onChange={(event) => setCode(event.target.value)}
          />
          <Button type="submit" variant="primary" size="lg" wide loading={busy}>
            {words.next}
          </Button>
        </form>
      )}
      {step.name === 'question' && (
        <Question asked={step.asked} code={code} busy={busy} onAnswer={(allow) => void answer(allow)} />
      )}
      {step.name === 'done' && <p role="status">{step.allowed ? words.allowed : words.denied}</p>}
    </Column>
  )
}

interface QuestionProps {
  asked: DeviceRequested
  code: string
  busy: boolean
  onAnswer: (allow: boolean) => void
}

function Question({ asked, code, busy, onAnswer }: QuestionProps) {
  const where = [asked.device, asked.address].filter(Boolean).join('・')
  return (
    <div className={styles.page}>
      <p className={styles.asks}>{texts.asks(asked.client.name)}</p>
      <div>
        <p className={styles.code}>{code.toUpperCase()}</p>
        <p className={styles.small}>{words.sameCode}</p>
      </div>
      <Facts scopes={asked.scopes}>
        <div>
          <dt>{words.askedLabel}</dt>
          <dd>{words.asked(formatDate(asked.created_at), where)}</dd>
        </div>
      </Facts>
      <p className={styles.warning}>{words.warning}</p>
      <p className={styles.small}>{texts.later}</p>
      <div className={styles.actions}>
        <Button variant="primary" size="lg" wide loading={busy} onClick={() => onAnswer(true)}>
          {texts.allow}
        </Button>
        <Button size="lg" wide disabled={busy} onClick={() => onAnswer(false)}>
          {texts.cancel}
        </Button>
      </div>
    </div>
  )
}
