import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { call, type Member, type MemberFilter, type Role } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '@/lib/ui/numbers'
import filters from '../parts/Filters.module.css'
import { Page } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { SaveCsv } from '../parts/SaveCsv'
import { SearchBox } from '../parts/SearchBox'
import table from '../parts/Table.module.css'
import { contractQuery, type MemberQuery, membersQuery, oidcQuery, samlQuery } from '../queries'
import { roles, states, members as words } from '../texts'
import { type UrlState, useUrlState } from '../urlState'
import { AskDialog } from './AskDialog'
import { DefaultLimit } from './DefaultLimit'
import { EditDialog } from './EditDialog'
import { InviteDialog } from './invite/InviteDialog'
import type { MemberDialog } from './MemberMenu'
import { MemberRow } from './MemberRow'
import styles from './MemberTable.module.css'
import { ROLES } from './may'

type Open = { kind: 'invite' } | { kind: MemberDialog; member: Member } | null

/** The list of members, with the dialogs to invite, change and remove them. */
export function MembersPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const { data: contract } = useQuery(contractQuery)
  const { data: saml } = useQuery(samlQuery)
  const { data: oidc } = useQuery(oidcQuery)
  const url = useUrlState()
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const seats = contract?.seats

  return (
    <Page
      title={words.title}
      lead={seats && <Seats {...seats} />}
      actions={
        <>
          <SaveCsv name="tsumugi-members" load={() => call('exportMembers')} />
          <Button variant="primary" onClick={() => setOpen({ kind: 'invite' })}>
            <Plus size={16} aria-hidden />
            {words.invite}
          </Button>
        </>
      }
    >
      <div>
        <DefaultLimit />
        <Filters url={url} />
        <PagedTable
          query={(page) => membersQuery(filtersOf(url), page)}
          found={words.found}
          none={<Nothing url={url} filters={['q', 'role', 'state']} words={words} />}
          caption={words.table}
          columns={[words.name, words.role, words.state, words.tokens, words.lastSignIn]}
          actions
          className={cx(table.stacked, styles.members)}
          row={(member) => (
            <MemberRow
              key={member.id}
              me={me}
              member={member}
              singleSignOn={saml && oidc && (saml.enabled || oidc.enabled)}
              onOpen={(kind) => setOpen({ kind, member })}
            />
          )}
        />
      </div>
      {open?.kind === 'invite' && (
        <InviteDialog me={me} seatsLeft={seats && seats.limit - seats.used} onClose={close} />
      )}
      {open?.kind === 'edit' && <EditDialog me={me} member={open.member} onClose={close} />}
      {open && open.kind !== 'invite' && open.kind !== 'edit' && (
        <AskDialog question={open.kind} member={open.member} onClose={close} />
      )}
    </Page>
  )
}

function Seats({ used, limit }: { used: number; limit: number }) {
  return (
    <>
      {words.seats(formatNumber(used), formatNumber(limit))}
      {used >= limit ? words.seatsFull : words.seatsLeft(formatNumber(limit - used))}
    </>
  )
}

const STATES: readonly MemberFilter[] = ['active', 'invited', 'inactive']

function Filters({ url }: { url: UrlState }) {
  const { q, role, state } = filtersOf(url)
  return (
    <div className={filters.filters}>
      <SearchBox label={words.search} value={q ?? ''} onChange={(next) => url.set({ q: next })} />
      <Select
        label={words.role}
        hideLabel
        value={role ?? ''}
        onChange={(event) => url.set({ role: event.target.value })}
        options={ROLES.map((item) => [item, roles[item]])}
      >
        <option value="">{words.allRoles}</option>
      </Select>
      <Select
        label={words.state}
        hideLabel
        value={state ?? ''}
        onChange={(event) => url.set({ state: event.target.value })}
        options={STATES.map((item) => [item, states[item]])}
      >
        <option value="">{words.allStates}</option>
      </Select>
    </div>
  )
}

// Unknown values in the URL are dropped, because the API would refuse them.
function filtersOf(url: UrlState): MemberQuery {
  const q = url.get('q')
  const role = ROLES.find((item) => item === (url.get('role') as Role))
  const state = STATES.find((item) => item === (url.get('state') as MemberFilter))
  return { ...(q && { q }), ...(role && { role }), ...(state && { state }) }
}
