import { useState } from 'react'
import type { Choosable } from '@/components/Chooser'
import { Select } from '@/components/Field'
import { call, type ProjectGrant } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { ChooseDialog } from '../ChooseDialog'
import { changeGrants, PAGE } from '../queries'
import { texts } from '../texts'
import { hasGrant, type Role, roles, withGrant } from './grants'

const words = texts.members.adding

interface Candidate extends Choosable {
  readonly subject: ProjectGrant['subject']
}

interface InviteProps {
  readonly projectId: string
  readonly onClose: () => void
}

/** Invite is the dialog to give members and groups a role in the project. */
export function Invite({ projectId, onClose }: InviteProps) {
  const [role, setRole] = useState<Role>('viewer')
  // Another manager may have invited some of them meanwhile. They keep their roles.
  const invite = async (chosen: readonly Candidate[]) => {
    let added: readonly Candidate[] = []
    await changeGrants(projectId, (current) => {
      added = chosen.filter(({ subject }) => !hasGrant(current, subject))
      return added.reduce((all, { subject }) => withGrant(all, subject, role), current)
    })
    return words.done(added.length, chosen.length - added.length)
  }
  return (
    <ChooseDialog
      words={words}
      query={(search) => candidatesQuery(projectId, search)}
      onSubmit={invite}
      onClose={onClose}
    >
      <Select
        label={words.role}
        value={role}
        onChange={({ target }) => setRole(target.value as Role)}
        options={roles.map((one) => [one, `${texts.roles[one]}（${texts.roleHints[one]}）`])}
      />
    </ChooseDialog>
  )
}

/** candidatesQuery searches the members and groups that have no grant yet. */
function candidatesQuery(projectId: string, search: string) {
  const query = listQuery<Candidate>(
    ['project-candidates', projectId, search],
    PAGE,
    async (page, signal) => {
      const wanted = {
        project_id: projectId,
        without_grant: true,
        ...(search && { search }),
        ...page,
        signal,
      }
      const { items } = await call('listProjectSubjects', wanted)
      return {
        items: items.map((subject) => ({
          id: `${subject.kind} ${subject.id}`,
          name: subject.name ?? '',
          ...(subject.email && { email: subject.email }),
          ...(subject.kind === 'group' && {
            email: `${texts.members.group}・${texts.members.people(subject.member_count ?? 0)}`,
          }),
          subject,
        })),
      }
    },
  )
  return { ...query, staleTime: 0 }
}
