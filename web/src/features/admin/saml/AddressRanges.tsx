import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Select, TextArea } from '@/components/Field'
import { Loaded } from '@/components/States'
import { type AddressRanges, ApiError, call, firstErrorMessage } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import { changesOf } from '../changes'
import { LinesLoading } from '../parts/Loading'
import { BoxedFacts, Fact, Section } from '../parts/Page'
import { addressRangesQuery } from '../queries'
import { addressRanges as words } from '../texts'
import styles from './SessionLimits.module.css'

/** The uses that can have their own networks. */
const OWN_USES = ['api_ranges', 'connection_ranges'] as const

type OwnUse = (typeof OWN_USES)[number]
type Use = 'ranges' | OwnUse

/** The networks that members may connect from: administrators can see them, super-admins can set them. */
export function AddressRangesSection({ mayEdit }: { mayEdit: boolean }) {
  const query = useQuery(addressRangesQuery)
  return (
    <Section title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<LinesLoading />}>
        {(data) => (mayEdit ? <Form saved={data} /> : <Shown ranges={data} />)}
      </Loaded>
    </Section>
  )
}

function Shown({ ranges }: { ranges: AddressRanges }) {
  const said = (list: string[] | null) => {
    if (list === null) return words.sameAsApp
    return list.length === 0 ? words.any : list.join('\n')
  }
  return (
    <BoxedFacts>
      <Fact name={words.uses.ranges}>{said(ranges.ranges)}</Fact>
      {OWN_USES.map((use) => (
        <Fact key={use} name={words.uses[use]}>
          {said(ranges[use])}
        </Fact>
      ))}
    </BoxedFacts>
  )
}

/** The entered texts. Null: the networks of the app. */
type Texts = Record<'ranges', string> & Record<OwnUse, string | null>

function toTexts({ ranges, api_ranges, connection_ranges }: AddressRanges): Texts {
  return {
    ranges: ranges.join('\n'),
    api_ranges: api_ranges?.join('\n') ?? null,
    connection_ranges: connection_ranges?.join('\n') ?? null,
  }
}

const split = (text: string) => text.split(/[\s,、]+/).filter(Boolean)

function Form({ saved }: { saved: AddressRanges }) {
  const [edits, setEdits] = useState<Partial<Texts>>({})
  const [asking, setAsking] = useState(false)
  const [wrong, setWrong] = useState<{ use: Use; message: string }>()
  const { busy, run } = useTask()
  const entered = { ...toTexts(saved), ...edits }
  const next = {
    ranges: split(entered.ranges),
    api_ranges: entered.api_ranges === null ? null : split(entered.api_ranges),
    connection_ranges: entered.connection_ranges === null ? null : split(entered.connection_ranges),
  }
  const body = changesOf(saved, next)
  const changed = Object.keys(body).length > 0
  const restricts = Object.values(next).some((list) => list !== null && list.length > 0)
  const set = (change: Partial<Texts>) => {
    setEdits({ ...edits, ...change })
    setWrong(undefined)
  }
  const errorOf = (use: Use) => (wrong?.use === use ? wrong.message : undefined)

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (restricts) setAsking(true)
    else void save()
  }
  const save = () =>
    run(
      async () => {
        const stored = await call('putAddressRanges', { body })
        queryClient.setQueryData(addressRangesQuery.queryKey, stored)
        setEdits({})
        setAsking(false)
        toast(words.saved, { tone: 'success' })
      },
      (cause) => {
        setAsking(false)
        setWrong({ use: refusedUse(cause), message: words.notSaved(firstErrorMessage(cause)) })
      },
    )
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <Ranges
        label={words.label(words.uses.ranges)}
        hint={words.hint(saved.address)}
        error={errorOf('ranges')}
        value={entered.ranges}
        onChange={(ranges) => set({ ranges })}
      />
      {OWN_USES.map((use) => (
        <OwnRanges
          key={use}
          use={use}
          error={errorOf(use)}
          value={entered[use]}
          onChange={(text) => set({ [use]: text })}
        />
      ))}
      {!restricts && <p>{words.any}</p>}
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

/** The use whose networks the server refused. */
function refusedUse(cause: unknown): Use {
  const field = cause instanceof ApiError ? cause.fields[0]?.field : undefined
  return OWN_USES.find((use) => use === field) ?? 'ranges'
}

interface RangesProps {
  label: string
  hint: string
  error: string | undefined
  value: string
  onChange: (text: string) => void
}

function Ranges({ value, onChange, ...field }: RangesProps) {
  return (
    <TextArea
      {...field}
      value={value}
      rows={4}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

interface OwnRangesProps {
  use: OwnUse
  error: string | undefined
  value: string | null
  onChange: (text: string | null) => void
}

/** OwnRanges chooses between the networks of the app and others. */
function OwnRanges({ use, error, value, onChange }: OwnRangesProps) {
  const name = words.uses[use]
  return (
    <>
      <Select
        label={name}
        value={value === null ? 'app' : 'own'}
        onChange={(event) => onChange(event.target.value === 'app' ? null : '')}
        options={[
          ['app', words.sameAsApp],
          ['own', words.own],
        ]}
      />
      {value !== null && (
        <Ranges
          label={words.label(name)}
          hint={words.ownHint}
          error={error}
          value={value}
          onChange={onChange}
        />
      )}
    </>
  )
}
