import { KeyRound, Mail, MoreHorizontal, Pencil, Trash2 } from 'lucide-react'
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
import { invitationFor, stateOf, whyNot } from './may'

const words = texts.members
const icon = { size: 16, 'aria-hidden': true } as const

interface MemberTableProps {
  me: Me
  members: readonly Member[]
  /** Whether the organization uses it; undefined while that is not known. */
  singleSignOn: boolean | undefined
  busy: boolean
  onEdit: (member: Member) => void
  onRemove: (member: Member) => void
  onResend: (member: Member) => void
  onGivePassword: (member: Member) => void
}

type Actions = Pick<MemberTableProps, 'onEdit' | 'onRemove' | 'onResend' | 'onGivePassword'>

/** A page of members, with a menu for each. */
export function MemberTable({ me, members, singleSignOn, busy, ...actions }: MemberTableProps) {
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
            <td className={cx(table.nowrap, table.quiet)} data-label={lastSignIn(member) && words.lastSignIn}>
              <LastSignIn member={member} />
            </td>
            <td className={cx(table.narrow, styles.menu)}>
              <MemberMenu
                member={member}
                singleSignOn={singleSignOn}
                refused={whyNot(me, member) !== undefined}
                {...actions}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface MemberMenuProps extends Actions {
  member: Member
  singleSignOn: boolean | undefined
  /** Whether the reader may not change this member; the form then says why. */
  refused: boolean
}

function MemberMenu({ member, singleSignOn, refused, ...actions }: MemberMenuProps) {
  const { onEdit, onRemove, onResend, onGivePassword } = actions
  const invitation = invitationFor(member, singleSignOn)
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
      {invitation === 'again' && (
        <MenuItem icon={<Mail {...icon} />} disabled={refused} onSelect={() => onResend(member)}>
          {words.resend}
        </MenuItem>
      )}
      {invitation === 'password' && (
        <MenuItem icon={<KeyRound {...icon} />} disabled={refused} onSelect={later(onGivePassword)}>
          {words.givePassword}
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

/** When a member signed in last; for one who is invited it is the invitation that counts. */
function lastSignIn(member: Member): string | undefined {
  return stateOf(member) === 'invited' ? undefined : member.last_signed_in_at
}

function LastSignIn({ member }: { member: Member }) {
  const { invited_at: invited } = member
  const last = lastSignIn(member)
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
