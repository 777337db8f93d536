import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Select, TextField } from '@/components/Field'
import { call } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { formatNumber } from '@/lib/ui/numbers'
import { useSave } from '../parts/useSave'
import { memberLimitQuery, refreshMembers } from '../queries'
import { memberLimit as words } from '../texts'
import styles from './Dialogs.module.css'
import { typedTokens } from './limit'

/** The monthly token limit of each member, with a button to change it. Empty until loaded. */
export function DefaultLimit() {
  const { data } = useQuery(memberLimitQuery)
  const [open, setOpen] = useState(false)
  return (
    <div className={styles.setting}>
      {data && (
        <>
          <p>
            {words.label}
            <strong>{data.tokens === undefined ? words.none : words.count(formatNumber(data.tokens))}</strong>
          </p>
          <Button size="sm" onClick={() => setOpen(true)}>
            {words.edit}
          </Button>
          {open && <LimitDialog saved={data.tokens} onClose={() => setOpen(false)} />}
        </>
      )}
    </div>
  )
}

function LimitDialog({ saved, onClose }: { saved: number | undefined; onClose: () => void }) {
  const [limited, setLimited] = useState(saved !== undefined)
  const [typed, setTyped] = useState(saved === undefined ? '' : String(saved))
  const [error, setError] = useState<string>()
  const form = useId()
  const tokens = limited ? typedTokens(typed) : undefined
  const { busy, save } = useSave(words, async () => {
    const stored = await call('putMemberLimit', { body: tokens === undefined ? {} : { tokens } })
    queryClient.setQueryData(memberLimitQuery.queryKey, stored)
    onClose()
    void refreshMembers()
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (limited && tokens === undefined) setError(words.wrong)
    else void save()
  }
  return (
    <ConfirmDialog title={words.title} confirm={words.save} form={form} busy={busy} onClose={onClose}>
      <form className={styles.body} id={form} noValidate onSubmit={submit}>
        <p className={styles.quiet}>{words.lead}</p>
        <Select
          label={words.kind}
          value={limited ? 'own' : 'none'}
          onChange={(event) => setLimited(event.target.value === 'own')}
          options={[
            ['none', words.none],
            ['own', words.limited],
          ]}
        />
        {limited && (
          <TextField
            label={words.tokens}
            value={typed}
            inputMode="numeric"
            autoComplete="off"
            maxLength={30}
            error={error}
            onChange={(event) => {
              setTyped(event.target.value)
              setError(undefined)
            }}
          />
        )}
      </form>
    </ConfirmDialog>
  )
}
