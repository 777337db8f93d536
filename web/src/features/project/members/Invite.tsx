import { useState } from 'react'
import type { Choosable } from '@/components/Chooser'
import { Select } from '@/components/Field'
import { call, type ProjectGrant } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { ChooseDialog } from '../ChooseDialog'
import { changeGrants } from '../queries'
import { texts } from '../texts'
import { isOf, type Role, roles, withGrant } from './grants'

const words = texts.members.adding

/** The API returns at most this number of members and groups for a search. */
const FOUND = 20

interface Candidate extends Choosable {
  readonly subject: ProjectGrant['subject']
}

interface InviteProps {
  readonly projectId: string
  readonly grants: readonly ProjectGrant[]
  readonly onClose: () => void
}

/** Invite is the dialog to give members and groups a role in the project. */
export function Invite({ projectId, grants, onClose }: InviteProps) {
  const [role, setRole] = useState<Role>('viewer')
  const invite = (chosen: readonly Candidate[]) =>
    changeGrants(projectId, (current) =>
      chosen.reduce((all, { subject }) => withGrant(all, subject, role), current),
    )
  return (
    <ChooseDialog
      words={words}
      query={(search) => candidatesQuery(projectId, search, grants)}
      onSubmit={invite}
      onClose={onClose}
    >
      <Select label={words.role} value={role} onChange={({ target }) => setRole(target.value as Role)}>
        {roles.map((one) => (
          <option key={one} value={one}>
            {`${texts.roles[one]}（${texts.roleHints[one]}）`}
          </option>
        ))}
      </Select>
    </ChooseDialog>
  )
}

/** candidatesQuery searches the members and groups that have no grant yet. */
function candidatesQuery(projectId: string, search: string, grants: readonly ProjectGrant[]) {
  return listQuery<Candidate>(['project-candidates', projectId, search], FOUND + 1, async (_, signal) => {
    const { items } = await call('listProjectSubjects', { project_id: projectId, search, signal })
    const free = items.filter((subject) => !grants.some((grant) => isOf(grant, subject)))
    return {
      items: free.map((subject) => ({
        id: `${subject.kind} ${subject.id}`,
        name: subject.name ?? '',
        ...(subject.email && { email: subject.email }),
        ...(subject.kind === 'group' && {
          email: `${texts.members.group}・${texts.members.people(subject.member_count ?? 0)}`,
        }),
        subject,
      })),
    }
  })
}
