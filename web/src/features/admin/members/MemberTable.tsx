import { Mail, MoreHorizontal, Pencil, Trash2 } from 'lucide-react'
import { useRef } from 'react'
import { Avatar } from '@/components/Avatar'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu'
import type { Me, Member } from '@/lib/api'
import { cx } from '@/lib/cx'
import { formatDate, formatFull } from '@/lib/dates'
import table from '../parts/Table.module.css'
import { texts } from '../texts'
import styles from './MemberTable.module.css'
import { stateOf, whyNot } from './may'

const words = texts.members
const icon = { size: 16, 'aria-hidden': true } as const

interface MemberTableProps {
  me: Me
  members: readonly Member[]
  busy: boolean
  onEdit: (member: Member) => void
  onRemove: (member: Member) => void
  onResend: (member: Member) => void
}

/** A page of members, with a menu for each. */
export function MemberTable({ me, members, busy, onEdit, onRemove, onResend }: MemberTableProps) {
  return (
    <table className={cx(table.table, table.stacked, styles.members)} aria-busy={busy}>
      <caption className="visually-hidden">{words.table}</caption>
      <thead>
        <tr>
          <th scope="col">{words.name}</th>
          <th scope="col">{words.role}</th>
          <th scope="col">{words.state}</th>
          <th scope="col">{words.lastSignIn}</th>
          <th scope="col" className={table.narrow}>
            <span className="visually-hidden">{words.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {members.map((member) => (
          <tr key={member.id}>
            <th scope="row">
              <Who member={member} me={me} />
            </th>
            <td className={table.nowrap}>{texts.roles[member.role]}</td>
            <td className={table.nowrap}>
              <State member={member} />
            </td>
            <td
              className={cx(table.nowrap, table.quiet)}
              data-label={member.last_signed_in_at && words.lastSignIn}
            >
              <LastSignIn member={member} />
            </td>
            <td className={cx(table.narrow, styles.menu)}>
              <MemberMenu
                member={member}
                refused={whyNot(me, member) !== undefined}
                onEdit={onEdit}
                onRemove={onRemove}
                onResend={onResend}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface MemberMenuProps extends Pick<MemberTableProps, 'onEdit' | 'onRemove' | 'onResend'> {
  member: Member
  /** Whether the reader may not change this member; the form then says why. */
  refused: boolean
}

function MemberMenu({ member, refused, onEdit, onRemove, onResend }: MemberMenuProps) {
  // A dialog opens once the menu has given the focus back to its button: that is where the dialog will leave it.
  const next = useRef<((member: Member) => void) | null>(null)
  const openNext = () => {
    const open = next.current
    next.current = null
    if (open) queueMicrotask(() => open(member))
  }
  const later = (open: (member: Member) => void) => () => {
    next.current = open
  }
  return (
    <Menu
      onCloseAutoFocus={openNext}
      trigger={
        <IconButton label={words.menu(member.name)}>
          <MoreHorizontal size={18} />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil {...icon} />} onSelect={later(onEdit)}>
        {words.edit}
      </MenuItem>
      {stateOf(member) === 'invited' && (
        <MenuItem icon={<Mail {...icon} />} disabled={refused} onSelect={() => onResend(member)}>
          {words.resend}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={<Trash2 {...icon} />} danger disabled={refused} onSelect={later(onRemove)}>
        {words.remove}
      </MenuItem>
    </Menu>
  )
}

function Who({ member, me }: { member: Member; me: Me }) {
  return (
    <span className={styles.who}>
      <Avatar name={member.name} size={34} />
      <span>
        <span className={styles.name}>
          {member.name}
          {member.id === me.id && <span className={styles.you}>{words.you}</span>}
        </span>
        <span className={styles.email}>{member.email}</span>
      </span>
    </span>
  )
}

/** The state of a member, in words and with a dot. */
export function State({ member }: { member: Member }) {
  const state = stateOf(member)
  return (
    <span className={styles.state} data-state={state}>
      {texts.states[state]}
    </span>
  )
}

function LastSignIn({ member }: { member: Member }) {
  const { last_signed_in_at: last, invited_at: invited } = member
  if (last !== undefined) return <When at={last}>{formatDate(last)}</When>
  if (invited !== undefined) return <When at={invited}>{words.invitedAt(formatDate(invited))}</When>
  return words.never
}

function When({ at, children }: { at: string; children: string }) {
  return (
    <time dateTime={at} title={formatFull(at)}>
      {children}
    </time>
  )
}
