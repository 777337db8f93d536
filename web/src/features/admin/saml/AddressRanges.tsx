import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { TextArea } from '@/components/Field'
import { Loaded } from '@/components/States'
import { type AddressRanges, call, firstErrorMessage } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { addressRangesQuery } from '../queries'
import { texts } from '../texts'
import styles from './SessionLimits.module.css'

const words = texts.addressRanges

/** The networks that members may connect from: administrators can see them, super-admins can set them. */
export function AddressRangesSection({ mayEdit }: { mayEdit: boolean }) {
  const query = useQuery(addressRangesQuery)
  return (
    <Section title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<LinesLoading />}>
        {(data) => (mayEdit ? <Form saved={data} /> : <Shown ranges={data.ranges} />)}
      </Loaded>
    </Section>
  )
}

function Shown({ ranges }: { ranges: string[] }) {
  if (ranges.length === 0) return <p>{words.any}</p>
  return (
    <ul>
      {ranges.map((range) => (
        <li key={range}>{range}</li>
      ))}
    </ul>
  )
}

function Form({ saved }: { saved: AddressRanges }) {
  const [text, setText] = useState(saved.ranges.join('\n'))
  const [asking, setAsking] = useState(false)
  const [wrong, setWrong] = useState<string>()
  const { busy, run } = useTask()
  const ranges = text.split(/[\s,、]+/).filter(Boolean)
  const changed = ranges.join('\n') !== saved.ranges.join('\n')

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (ranges.length > 0) setAsking(true)
    else void save()
  }
  const save = () =>
    run(
      async () => {
        const stored = await call('putAddressRanges', { body: { ranges } })
        queryClient.setQueryData(addressRangesQuery.queryKey, stored)
        setText(stored.ranges.join('\n'))
        setAsking(false)
        toast(words.saved, { tone: 'success' })
      },
      (cause) => {
        setAsking(false)
        setWrong(words.notSaved(firstErrorMessage(cause)))
      },
    )
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <TextArea
        label={words.label}
        hint={words.hint(saved.address)}
        error={wrong}
        value={text}
        rows={4}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setText(event.target.value)
          setWrong(undefined)
        }}
      />
      {ranges.length === 0 && <p>{words.any}</p>}
      <Button type="submit" variant="primary" disabled={!changed} loading={busy && !asking}>
        {words.save}
      </Button>
      {asking && (
        <ConfirmDialog
          title={words.confirmTitle}
          confirm={words.confirm}
          busy={busy}
          onConfirm={() => void save()}
          onClose={() => setAsking(false)}
        >
          <p>{words.confirmBody}</p>
        </ConfirmDialog>
      )}
    </form>
  )
}
