import { type ReactNode, useDeferredValue, useMemo } from 'react'
import { Button } from '@/components/Button'
import type { NewMember, Role } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { common, inviting as words } from '../../texts'
import { mayGrant } from '../may'
import { RoleSelect } from '../RoleSelect'
import { InviteFrame, type InviteProps } from './InviteFrame'
import { InvitePreview } from './InvitePreview'
import { readInvitees } from './invitees'
import { ListField } from './ListField'

interface InviteManyProps extends InviteProps {
  ways: ReactNode
  text: string
  /** The role of lines without one. */
  role: Role
  /** Why the server refused people of an earlier list, by `personKey`. */
  refused: ReadonlyMap<string, string>
  onText: (text: string) => void
  onRole: (role: Role) => void
  onSend: (people: readonly NewMember[]) => void
}

/** Invites people from a pasted list or a CSV file, after showing how each line was parsed. */
export function InviteMany({
  me,
  seatsLeft,
  ways,
  text,
  role,
  refused,
  onText,
  onRole,
  onSend,
  onClose,
}: InviteManyProps) {
  const deferred = useDeferredValue(text)
  const grant = mayGrant(me)
  const invitees = useMemo(
    () => readInvitees(deferred, { role, mayGrant: grant, refused }),
    [deferred, role, grant, refused],
  )
  const good = invitees.filter((item) => item.error === undefined)

  return (
    <InviteFrame
      wide
      ways={ways}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
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
      <ListField
        label={words.list}
        hint={words.listHint}
        placeholder={words.listPlaceholder}
        text={text}
        onText={onText}
      />
      <RoleSelect
        me={me}
        label={words.roleWhere}
        value={role}
        onChange={(event) => onRole(event.target.value as Role)}
      />
      {invitees.length > 0 && <InvitePreview invitees={invitees} good={good.length} seatsLeft={seatsLeft} />}
    </InviteFrame>
  )
}
