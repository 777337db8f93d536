import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Select, TextField } from '@/components/Field'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { retentionQuery } from '@/entities/thread/leaving'
import { call } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { formatNumber, readCount } from '@/lib/ui/numbers'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { useSave } from '../parts/useSave'
import { retentionPreviewQuery } from '../queries'
import { retention as words } from '../texts'
import styles from './RetentionPage.module.css'

const MIN_DAYS = 30
const MAX_DAYS = 3650

/** The number of days after which threads are deleted. */
export function RetentionPage() {
  const query = useQuery({ ...retentionQuery, staleTime: 0 })
  return (
    <Page title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<BoxesLoading heights={[240]} />}>
        {(data) => <Form loaded={data.days} />}
      </Loaded>
    </Page>
  )
}

function Form({ loaded }: { loaded: number | undefined }) {
  const [known, setKnown] = useState(loaded)
  const [saved, setSaved] = useState(loaded)
  const [on, setOn] = useState(loaded !== undefined)
  const [typed, setTyped] = useState(String(loaded ?? 365))
  const [asking, setAsking] = useState(false)
  const [wrong, setWrong] = useState(false)
  const released = useRef(false)
  const days = on ? readDays(typed) : undefined
  // Allow submitting invalid input so that the error is shown.
  const dirty = on ? days === undefined || days !== saved : saved !== undefined
  // The first data may be from the cache. Changes in the form remain.
  if (loaded !== known) {
    setKnown(loaded)
    setSaved(loaded)
    if (!dirty) {
      setOn(loaded !== undefined)
      setTyped(String(loaded ?? 365))
    }
  }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (on && days === undefined) return setWrong(true)
    if (on) return setAsking(true)
    void save()
  }
  const saying = { ...words, saved: on ? words.saved : words.savedOff }
  const { busy, save } = useSave(saying, async () => {
    const stored = await call('putRetention', { body: days === undefined ? {} : { days } })
    queryClient.setQueryData(retentionQuery.queryKey, stored)
    setSaved(stored.days)
    setAsking(false)
  })
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <Select
        label={words.kind}
        value={on ? 'on' : 'off'}
        onChange={(event) => setOn(event.target.value === 'on')}
      >
        <option value="off">{words.off}</option>
        <option value="on">{words.on}</option>
      </Select>
      {on && (
        <>
          <TextField
            label={words.days}
            hint={words.range}
            value={typed}
            inputMode="numeric"
            autoComplete="off"
            maxLength={10}
            error={wrong && days === undefined ? words.wrong : undefined}
            onChange={(event) => setTyped(event.target.value)}
          />
          {days !== undefined && <Preview days={days} />}
          <ul className={styles.facts}>
            {words.facts.map((fact) => (
              <li key={fact}>{fact}</li>
            ))}
          </ul>
        </>
      )}
      <Button type="submit" variant="primary" disabled={!dirty} loading={busy && !asking}>
        {words.save}
      </Button>
      {asking && days !== undefined && (
        <ConfirmDialog
          title={words.confirmTitle(formatNumber(days))}
          confirm={words.confirm}
          danger
          busy={busy}
          onConfirm={() => void save()}
          onClose={() => setAsking(false)}
        >
          <div className={styles.confirm}>
            <Preview days={days} />
            <p>{words.confirmBody}</p>
          </div>
        </ConfirmDialog>
      )}
      <UnsavedGuard dirty={dirty} released={released} />
    </form>
  )
}

/** The number of threads that a retention of `days` would delete now. */
function Preview({ days }: { days: number }) {
  const { data, isError } = useQuery(retentionPreviewQuery(useDeferredValue(days)))
  return (
    <p className={styles.preview} role="status">
      {data === undefined && (isError ? words.previewFailed : words.counting)}
      {data?.told === 0 && words.nobody}
      {data &&
        data.told > 0 &&
        words.preview(formatNumber(data.members), formatNumber(data.told), formatNumber(data.due))}
    </p>
  )
}

function readDays(text: string): number | undefined {
  const days = readCount(text)
  return days !== undefined && days >= MIN_DAYS && days <= MAX_DAYS ? days : undefined
}
