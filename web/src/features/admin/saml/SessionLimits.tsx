import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { Loaded } from '@/components/States'
import { call, type SessionLimits, type SessionLimitsPutRequest } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { changesOf } from '../changes'
import { LinesLoading } from '../parts/Loading'
import { Fact, Facts, Section } from '../parts/Page'
import { useSave } from '../parts/useSave'
import { sessionLimitsQuery } from '../queries'
import { sessionLimits as words } from '../texts'
import styles from './SessionLimits.module.css'

const KINDS = ['single_sign_on', 'password'] as const
/** The choices, in minutes. */
const IDLE = [15, 30, 60, 240, 480, 1440, 10080, 43200]
const MAX = [60, 480, 720, 1440, 10080, 20160, 43200]

/** The maximum durations of sessions: administrators can see them, super-admins can set them. */
export function SessionLimitsSection({ mayEdit }: { mayEdit: boolean }) {
  const query = useQuery(sessionLimitsQuery)
  return (
    <Section title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<LinesLoading />}>
        {(data) => (mayEdit ? <Form saved={data} /> : <Shown limits={data} />)}
      </Loaded>
    </Section>
  )
}

function Shown({ limits }: { limits: SessionLimits }) {
  return (
    <Facts>
      {KINDS.map((kind) => (
        <Fact key={kind} name={words.kinds[kind]}>
          {words.both(words.minutes(limits[kind].idle_minutes), words.minutes(limits[kind].max_minutes))}
        </Fact>
      ))}
      <Fact name={words.connection}>{words.unusedFor(words.minutes(limits.connection.idle_minutes))}</Fact>
    </Facts>
  )
}

function Form({ saved }: { saved: SessionLimits }) {
  const [edits, setEdits] = useState<SessionLimitsPutRequest>({})
  const limits = {
    single_sign_on: { ...saved.single_sign_on, ...edits.single_sign_on },
    password: { ...saved.password, ...edits.password },
    connection: { ...saved.connection, ...edits.connection },
  }
  const body = {
    single_sign_on: changesOf(saved.single_sign_on, limits.single_sign_on),
    password: changesOf(saved.password, limits.password),
    connection: changesOf(saved.connection, limits.connection),
  }
  const changed = Object.values(body).some((change) => Object.keys(change).length > 0)
  const set = (kind: (typeof KINDS)[number], change: Partial<SessionLimits['password']>) => {
    const next = { ...limits[kind], ...change }
    // The idle limit cannot exceed the lifetime.
    next.idle_minutes = Math.min(next.idle_minutes, next.max_minutes)
    setEdits({ ...edits, [kind]: { ...edits[kind], ...changesOf(limits[kind], next) } })
  }
  const { busy, save } = useSave(words, async () => {
    const stored = await call('putSessionLimits', { body })
    queryClient.setQueryData(sessionLimitsQuery.queryKey, stored)
    setEdits((now) => (now === edits ? {} : now))
  })
  return (
    <div className={styles.form}>
      {KINDS.map((kind) => (
        <fieldset className={styles.kind} key={kind}>
          <legend>{words.kinds[kind]}</legend>
          <Select
            label={words.idle}
            value={String(limits[kind].idle_minutes)}
            onChange={(event) => set(kind, { idle_minutes: Number(event.target.value) })}
            options={choices(IDLE, limits[kind].idle_minutes, limits[kind].max_minutes)}
          />
          <Select
            label={words.max}
            value={String(limits[kind].max_minutes)}
            onChange={(event) => set(kind, { max_minutes: Number(event.target.value) })}
            options={choices(MAX, limits[kind].max_minutes, Number.POSITIVE_INFINITY)}
          />
        </fieldset>
      ))}
      <fieldset className={styles.kind}>
        <legend>{words.connection}</legend>
        <Select
          label={words.unused}
          value={String(limits.connection.idle_minutes)}
          onChange={(event) =>
            setEdits({ ...edits, connection: { idle_minutes: Number(event.target.value) } })
          }
          options={choices(IDLE, limits.connection.idle_minutes, Number.POSITIVE_INFINITY)}
        />
        <p className={styles.note}>{words.connectionNote}</p>
      </fieldset>
      <Button variant="primary" disabled={!changed} loading={busy} onClick={() => void save()}>
        {words.save}
      </Button>
    </div>
  )
}

// The current value may be missing from these choices, because the API accepts any.
function choices(usual: number[], current: number, most: number) {
  const all = [...new Set([...usual, current])].filter((minutes) => minutes <= most).sort((a, b) => a - b)
  return all.map((minutes) => [minutes, words.minutes(minutes)] as const)
}
