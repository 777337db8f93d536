import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useNavigate, useParams } from 'react-router'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { EmptyState, ErrorState } from '@/components/States'
import { ApiError, call, errorMessage, type Group, type GroupMembersPutRequest, type Member } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { offerUndo, toastFailure } from '@/lib/ui/toast'
import filters from '../parts/Filters.module.css'
import { BoxesLoading } from '../parts/Loading'
import { BackLink, BoxedFacts, Fact, Page, Section } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { SearchBox } from '../parts/SearchBox'
import { EndCell } from '../parts/Table'
import table from '../parts/Table.module.css'
import { groupQuery, membersQuery, refreshGroups } from '../queries'
import { groups, group as words } from '../texts'
import { useUrlState } from '../urlState'
import { AddMembers } from './AddMembers'
import { GroupForm } from './GroupForm'
import { limitText } from './GroupsPage'

const back = <BackLink to="/admin/group">{words.back}</BackLink>

/** A group with its members. */
export function GroupPage() {
  const { groupId = '' } = useParams()
  const { data, error, refetch } = useQuery(groupQuery(groupId))
  if (data !== undefined) return <Loaded group={data} />
  // The API responds with 400 to an invalid id.
  const missing = error instanceof ApiError && (error.status === 404 || error.status === 400)
  return (
    <Page title={groups.title} actions={back}>
      {error === null ? (
        <BoxesLoading heights={[120, 300]} />
      ) : missing ? (
        <EmptyState title={words.missing} />
      ) : (
        <ErrorState onRetry={() => void refetch()} />
      )}
    </Page>
  )
}

function Loaded({ group }: { group: Group }) {
  const navigate = useNavigate()
  const [open, setOpen] = useState<'edit' | 'remove' | 'add' | null>(null)
  const close = () => setOpen(null)
  return (
    <Page
      title={group.name}
      lead={group.description}
      actions={
        <>
          {back}
          <Button onClick={() => setOpen('edit')}>{words.edit}</Button>
          <Button variant="quietDanger" onClick={() => setOpen('remove')}>
            {words.remove}
          </Button>
        </>
      }
    >
      <BoxedFacts>
        <Fact name={groups.members}>{groups.people(formatNumber(group.member_count))}</Fact>
        <Fact name={groups.limit}>{limitText(group)}</Fact>
        <Fact name={groups.source}>{groups.sources[group.source]}</Fact>
      </BoxedFacts>
      <Section
        title={words.members}
        lead={group.source === 'manual' ? undefined : words.provided[group.source]}
        actions={
          group.source === 'manual' && (
            <Button variant="primary" onClick={() => setOpen('add')}>
              <Plus size={16} aria-hidden />
              {words.addMembers}
            </Button>
          )
        }
      >
        <Members group={group} />
      </Section>
      {open === 'edit' && <GroupForm group={group} onClose={close} />}
      {open === 'add' && <AddMembers group={group} onClose={close} />}
      {open === 'remove' && (
        <EndDialog
          words={words.removing}
          end={async () => {
            await call('deleteGroup', { group_id: group.id })
            void navigate('/admin/group', { replace: true })
          }}
          changes={['admin', 'listGroups']}
          onClose={close}
        >
          <p>{words.removing.body(group.name)}</p>
        </EndDialog>
      )}
    </Page>
  )
}

function Members({ group }: { group: Group }) {
  const url = useUrlState()
  const q = url.get('q')
  const manual = group.source === 'manual'
  return (
    <div>
      <div className={filters.filters}>
        <SearchBox label={words.search} value={q} onChange={(next) => url.set({ q: next })} />
      </div>
      <PagedTable
        query={(page) => membersQuery({ group_id: group.id, ...(q && { q }) }, page)}
        found={words.found}
        none={<Nothing url={url} words={words} />}
        caption={words.members}
        columns={[words.name, words.email]}
        actions={manual}
        className={table.stacked}
        row={(member) => (
          <tr key={member.id}>
            <th scope="row">{member.name}</th>
            <td className={table.quiet} data-label={words.email}>
              {member.email}
            </td>
            {manual && (
              <EndCell of={words.of(member.name)} end={words.take} onEnd={() => void remove(group, member)} />
            )}
          </tr>
        )}
      />
    </div>
  )
}

/** Removes a member from a group, and offers to undo it. */
async function remove(group: Group, { id, name }: Member) {
  const change = async (body: GroupMembersPutRequest) => {
    try {
      await call('changeGroupMembers', { group_id: group.id, body })
      await refreshGroups()
      return true
    } catch (cause) {
      toastFailure(words.notTaken(errorMessage(cause)))
      return false
    }
  }
  if (await change({ remove: [id] })) offerUndo(words.taken(name), () => void change({ add: [id] }))
}
