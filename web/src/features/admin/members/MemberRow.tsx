import { Avatar } from '@/components/Avatar'
import { Meter } from '@/components/Meter'
import type { Me, Member, MemberTokens } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatDate, formatFull } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import table from '../parts/Table.module.css'
import { roles, states, members as words } from '../texts'
import { MemberMenu, type MemberMenuProps } from './MemberMenu'
import styles from './MemberTable.module.css'
import { stateOf } from './may'

/** A member in the list, with a menu. */
export function MemberRow(props: MemberMenuProps) {
  const { me, member } = props
  return (
    <tr>
      <th scope="row">
        <Who member={member} me={me} />
      </th>
      <td className={table.nowrap}>{roles[member.role]}</td>
      <td className={table.nowrap}>
        <State member={member} />
        {member.second_factor && <span className={styles.factor}>{words.factor}</span>}
        {member.factor_reset_by && (
          <span className={styles.factor}>{words.resetRequested(member.factor_reset_by)}</span>
        )}
      </td>
      <td className={styles.tokens} data-label={words.tokens}>
        <Tokens {...member.tokens} />
      </td>
      <td className={cx(table.nowrap, table.quiet, styles.last)} data-label={dateLabel(member)}>
        <LastSignIn member={member} />
      </td>
      <td className={cx(table.narrow, styles.menu)}>
        <MemberMenu {...props} />
      </td>
    </tr>
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

/** The state of a member, as text with a dot. */
function State({ member }: { member: Member }) {
  const state = stateOf(member)
  return (
    <span className={styles.state} data-state={state}>
      {states[state]}
    </span>
  )
}

function Tokens({ used, limit }: MemberTokens) {
  if (limit === undefined) return formatNumber(used)
  return (
    <>
      <span>{words.tokensOf(formatNumber(used), formatNumber(limit))}</span>
      <Meter label={words.tokens} used={used} limit={limit} />
    </>
  )
}

/** When a member last signed in; for an invited one, the date of the invitation. */
function lastSignIn(member: Member): string | undefined {
  return stateOf(member) === 'invited' ? undefined : member.last_signed_in_at
}

/** The column's name, unless the date is that of an invitation. */
function dateLabel(member: Member): string | undefined {
  return member.invited_at !== undefined && lastSignIn(member) === undefined ? undefined : words.lastSignIn
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
