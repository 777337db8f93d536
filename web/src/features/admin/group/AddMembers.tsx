import { useState } from 'react'
import { type Choosable, Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { call, errorMessage, type Group } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from '../members/Dialogs.module.css'
import { readInvitees } from '../members/invite/invitees'
import { ListField } from '../members/invite/ListField'
import { Notice } from '../parts/Page'
import { peopleQuery, refreshGroups } from '../queries'
import { common, group } from '../texts'

const words = group.adding

/** A dialog to add members to a group: chosen ones, and those in a list of addresses. */
export function AddMembers({ group, onClose }: { group: Group; onClose: () => void }) {
  const [chosen, setChosen] = useState<readonly Choosable[]>([])
  const [list, setList] = useState('')
  const [unknown, setUnknown] = useState<readonly string[]>([])
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const lines = readInvitees(list, { role: 'general-user', mayGrant: true, ignoreRoles: true })
  const wrong = lines.find((line) => line.error !== undefined)
  const count = chosen.length + lines.length
  const add = () => {
    if (wrong) return
    if (count === 0) return setError(words.required)
    void run(
      async () => {
        const { group: changed, unknown_emails } = await call('changeGroupMembers', {
          group_id: group.id,
          body: { add: chosen.map(({ id }) => id), add_emails: lines.map(({ email }) => email) },
        })
        void refreshGroups()
        toast(words.done(formatNumber(changed.member_count)), { tone: 'success' })
        if (unknown_emails.length === 0) return onClose()
        setUnknown(unknown_emails)
        setError(undefined)
        setChosen([])
        setList('')
      },
      (cause) => setError(errorMessage(cause)),
    )
  }
  return (
    <ConfirmDialog
      title={words.title(group.name)}
      wide
      cancel={unknown.length > 0 ? common.close : common.cancel}
      confirm={count === 0 ? words.nobody : words.submit(formatNumber(count))}
      busy={busy}
      onConfirm={add}
      onClose={onClose}
    >
      <div className={styles.body}>
        {unknown.length > 0 && (
          <Notice level="warning" role="alert">
            <p>{words.unknown(formatNumber(unknown.length))}</p>
            <p>{unknown.join('、')}</p>
          </Notice>
        )}
        <Chooser
          words={words.choose}
          query={peopleQuery}
          chosen={chosen}
          onChange={(next) => {
            setChosen(next)
            setError(undefined)
          }}
        />
        <ListField
          label={words.list}
          hint={words.listHint}
          placeholder={words.listPlaceholder}
          text={list}
          onText={(text) => {
            setList(text)
            setError(undefined)
          }}
        />
        <div role="alert">
          {wrong && <FieldErrorText>{words.wrong(wrong.line, wrong.error ?? '')}</FieldErrorText>}
          {error && <FieldErrorText>{error}</FieldErrorText>}
        </div>
      </div>
    </ConfirmDialog>
  )
}
