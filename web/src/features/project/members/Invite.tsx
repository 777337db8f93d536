import { useState } from 'react'
import { Button } from '@/components/Button'
import { type Choosable, Chooser } from '@/components/Chooser'
import { Dialog } from '@/components/Dialog'
import { Select } from '@/components/Field'
import { call, firstErrorMessage, type ProjectGrant } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from '../Project.module.css'
import { changeGrants } from '../queries'
import { texts } from '../texts'
import { isOf, type Role, roles, withGrant } from './grants'

const words = texts.members.adding

/** The API returns at most this number of members and groups for a search. */
const FOUND = 20

interface Candidate extends Choosable {
  readonly subject: ProjectGrant['subject']
}

/** Invite is the dialog to give members and groups a role in the project. */
export function Invite({
  projectId,
  grants,
  onClose,
}: {
  projectId: string
  grants: readonly ProjectGrant[]
  onClose: () => void
}) {
  const [chosen, setChosen] = useState<readonly Candidate[]>([])
  const [role, setRole] = useState<Role>('viewer')
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const invite = () =>
    run(
      async () => {
        await changeGrants(projectId, (current) =>
          chosen.reduce((all, { subject }) => withGrant(all, subject, role), current),
        )
        toast(words.done(chosen.length), { tone: 'success' })
        onClose()
      },
      (cause) => setError(firstErrorMessage(cause)),
    )
  return (
    <Dialog
      title={words.title}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button
            variant="primary"
            disabled={chosen.length === 0}
            loading={busy}
            onClick={() => void invite()}
          >
            {words.submit(chosen.length)}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <Chooser
          words={words.choose}
          query={(search) => candidatesQuery(projectId, search, grants)}
          chosen={chosen}
          error={error}
          onChange={(next) => {
            setChosen(next)
            setError(undefined)
          }}
        />
        <Select label={words.role} value={role} onChange={({ target }) => setRole(target.value as Role)}>
          {roles.map((one) => (
            <option key={one} value={one}>
              {`${texts.roles[one]}（${texts.roleHints[one]}）`}
            </option>
          ))}
        </Select>
      </div>
    </Dialog>
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
