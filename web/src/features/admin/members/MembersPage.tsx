import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { call, type Member, type MemberFilter, type Role } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatNumber } from '@/lib/ui/numbers'
import filters from '../parts/Filters.module.css'
import { Page } from '../parts/Page'
import { NoMatch, PagedList } from '../parts/PagedList'
import { SaveCsv } from '../parts/SaveCsv'
import { SearchBox } from '../parts/SearchBox'
import { contractQuery, type MemberQuery, membersQuery, oidcQuery, samlQuery } from '../queries'
import { roles, states, members as words } from '../texts'
import { type UrlState, useUrlState } from '../urlState'
import { AskDialog } from './AskDialog'
import { resend } from './changes'
import { DefaultLimit } from './DefaultLimit'
import { EditDialog } from './EditDialog'
import { InviteDialog } from './invite/InviteDialog'
import { MemberTable } from './MemberTable'
import { ROLES } from './may'

type Open =
  | { kind: 'invite' }
  | { kind: 'edit' | 'remove' | 'password' | 'sign-out' | 'unlink' | 'reset-factor'; member: Member }
  | null

/** The list of members, with the dialogs to invite, change and remove them. */
export function MembersPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const { data: contract } = useQuery(contractQuery)
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
        <List
          url={url}
          onEdit={(member) => setOpen({ kind: 'edit', member })}
          onRemove={(member) => setOpen({ kind: 'remove', member })}
          onGivePassword={(member) => setOpen({ kind: 'password', member })}
          onSignOut={(member) => setOpen({ kind: 'sign-out', member })}
          onUnlink={(member) => setOpen({ kind: 'unlink', member })}
          onResetFactor={(member) => setOpen({ kind: 'reset-factor', member })}
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

interface ListProps {
  url: UrlState
  onEdit: (member: Member) => void
  onRemove: (member: Member) => void
  onGivePassword: (member: Member) => void
  onSignOut: (member: Member) => void
  onUnlink: (member: Member) => void
  onResetFactor: (member: Member) => void
}

function List({ url, ...actions }: ListProps) {
  const { data: me } = useSuspenseQuery(meQuery)
  const { data: saml } = useQuery(samlQuery)
  const { data: oidc } = useQuery(oidcQuery)
  return (
    <PagedList
      url={url}
      query={(page) => membersQuery(filtersOf(url), page)}
      found={words.found}
      empty={<NoMatch words={words} onReset={() => url.set({ q: '', role: '', state: '' })} />}
    >
      {(members, busy) => (
        <MemberTable
          me={me}
          members={members}
          singleSignOn={saml && oidc && (saml.enabled || oidc.enabled)}
          busy={busy}
          onResend={(member) => void resend(member)}
          {...actions}
        />
      )}
    </PagedList>
  )
}
