import { useState } from 'react'
import type { Choosable } from '@/components/Chooser'
import { Select } from '@/components/Field'
import { call, type ProjectSubject } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { ChooseDialog } from '../ChooseDialog'
import { changeGrants, PAGE } from '../queries'
import { texts } from '../texts'
import { hasGrant, type Role, roles, withGrant } from './grants'

const words = texts.members

interface Candidate extends Choosable {
  readonly subject: ProjectSubject
}

/** Invite is the dialog to give members and groups a role in the project. */
export function Invite({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  const [role, setRole] = useState<Role>('viewer')
  // Another manager may have invited some of them meanwhile. They keep their roles.
  const invite = async (chosen: readonly Candidate[]) => {
    let added: readonly Candidate[] = []
    await changeGrants(projectId, (current) => {
      added = chosen.filter(({ subject }) => !hasGrant(current, subject))
      return added.reduce((all, { subject }) => withGrant(all, subject, role), current)
    })
    return words.adding.done(added.length, chosen.length - added.length)
  }
  return (
    <ChooseDialog
      words={words.adding}
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
function candidatesQuery(project_id: string, search: string) {
  return listQuery<Candidate>(['project-candidates', project_id, search], PAGE, async (page, signal) => {
    const wanted = { project_id, without_grant: true, search, ...page, signal }
    const { items } = await call('listProjectSubjects', wanted)
    return {
      items: items.map((subject) => {
        const { kind, id, name, email = '', member_count: count = 0 } = subject
        const brief = kind === 'group' ? `${words.group}・${words.people(count)}` : email
        return { id: `${kind} ${id}`, name, email: brief, subject }
      }),
    }
  })
}
