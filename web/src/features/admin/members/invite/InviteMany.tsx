import { FileText } from 'lucide-react'
import { type ChangeEvent, type ReactNode, useDeferredValue, useMemo, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import type { NewMember, Role } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { texts } from '../../texts'
import styles from '../Dialogs.module.css'
import { mayGrant } from '../may'
import { RoleSelect } from '../RoleSelect'
import { decodeText, MAX_FILE_BYTES } from './csv'
import { InviteFrame, type InviteProps } from './InviteFrame'
import { InvitePreview } from './InvitePreview'
import { readInvitees } from './invitees'

const words = texts.inviting

interface InviteManyProps extends InviteProps {
  ways: ReactNode
  text: string
  onText: (text: string) => void
  onSend: (people: readonly NewMember[]) => void
}

/** Invites people from a pasted list or a CSV file, after showing how each line was parsed. */
export function InviteMany({ me, seatsLeft, ways, text, onText, onSend, onClose }: InviteManyProps) {
  const [role, setRole] = useState<Role>('general-user')
  const deferred = useDeferredValue(text)
  const grant = mayGrant(me)
  const invitees = useMemo(() => readInvitees(deferred, { role, mayGrant: grant }), [deferred, role, grant])
  const good = invitees.filter((item) => item.error === undefined)

  return (
    <InviteFrame
      wide
      ways={ways}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button
            variant="primary"
            disabled={good.length === 0}
            onClick={() => onSend(good.map(({ email, name, role }) => ({ email, name, role })))}
          >
            {good.length === 0 ? words.submit : words.submitMany(formatNumber(good.length))}
          </Button>
        </>
      }
    >
      <ListField text={text} onText={onText} />
      <RoleSelect me={me} label={words.roleWhere} value={role} onChange={setRole} />
      {invitees.length > 0 && <InvitePreview invitees={invitees} good={good.length} seatsLeft={seatsLeft} />}
    </InviteFrame>
  )
}

function ListField({ text, onText }: { text: string; onText: (text: string) => void }) {
  const file = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [said, setSaid] = useState('')

  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = event.target.files?.[0]
    event.target.value = ''
    if (chosen === undefined) return
    setError(undefined)
    setSaid('')
    if (chosen.size > MAX_FILE_BYTES) return setError(words.fileTooBig)
    try {
      onText(decodeText(new Uint8Array(await chosen.arrayBuffer())))
      setSaid(words.fileRead(chosen.name))
    } catch {
      setError(words.fileUnreadable)
    }
  }

  return (
    <div className={styles.fields}>
      <TextArea
        className={styles.list}
        label={words.list}
        hint={words.listHint}
        placeholder={words.listPlaceholder}
        spellCheck={false}
        maxLength={MAX_FILE_BYTES}
        value={text}
        error={error}
        onChange={(event) => {
          onText(event.target.value)
          setError(undefined)
        }}
      />
      <div className={styles.file}>
        <input
          ref={file}
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          hidden
          aria-label={words.file}
          onChange={(event) => void read(event)}
        />
        <Button size="sm" onClick={() => file.current?.click()}>
          <FileText size={15} aria-hidden />
          {words.file}
        </Button>
        <span role="status">{said || words.fileHint}</span>
      </div>
    </div>
  )
}
