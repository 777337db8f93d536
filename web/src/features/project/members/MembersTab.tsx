import { useQuery } from '@tanstack/react-query'
import { Building2, UserPlus, UserRound, Users } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { EndButton } from '@/components/EndDialog'
import { Select } from '@/components/Field'
import { Loaded } from '@/components/States'
import { refreshProjects } from '@/entities/project/projects'
import { ApiError, errorMessage, type ProjectGrants, type ProjectSubject } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { useListFocus } from '@/lib/ui/listFocus'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import styles from '../Project.module.css'
import { LinesLoading } from '../parts'
import { useProject } from '../project'
import { changeGrants, grantsQuery } from '../queries'
import { texts } from '../texts'
import { everyone, hasGrant, type Role, roles, sortGrants, withGrant } from './grants'
import { Invite } from './Invite'

const words = texts.members

/** MembersTab lists who may use the project. Managers invite members and groups, change their roles and remove them. */
export function MembersTab() {
  const { id } = useProject()
  return (
    <Loaded query={useQuery(grantsQuery(id))} loading={<LinesLoading />}>
      {(data) => <Grants data={data} />}
    </Loaded>
  )
}

function Grants({ data: { grants } }: { data: ProjectGrants }) {
  const project = useProject()
  const [inviting, setInviting] = useState(false)
  const manages = project.role === 'manager'
  const alone = grants.length === 1 && grants[0]?.subject.kind === 'user'
  // Managers can give a role to everyone.
  const none = manages && !hasGrant(grants, everyone) ? [{ subject: everyone, role: undefined }] : []
  const { box, onFocus } = useListFocus<HTMLUListElement>(grants)
  return (
    <section className={styles.section} aria-label={words.label}>
      <div className={styles.tools}>
        {manages ? (
          <Button variant="primary" onClick={() => setInviting(true)}>
            <UserPlus size={16} aria-hidden />
            {words.adding.title}
          </Button>
        ) : (
          <p className={styles.quiet}>{words.onlyManagers}</p>
        )}
      </div>
      <ul className={styles.list} aria-label={words.label} ref={box} onFocus={onFocus}>
        {[...none, ...sortGrants(grants)].map(({ subject, role }) => (
          <Line
            key={subject.kind === 'organization' ? 'everyone' : subject.id}
            subject={subject}
            role={role}
          />
        ))}
      </ul>
      {alone && (
        <p className={styles.quiet}>
          {words.alone}
          {manages && words.aloneHint}
        </p>
      )}
      {inviting && <Invite projectId={project.id} onClose={() => setInviting(false)} />}
    </section>
  )
}

/** The subject of a line has no role any more. */
class Gone extends Error {}

function reasonOf(cause: unknown): string {
  if (cause instanceof ApiError && cause.code === 'last_manager') return words.lastManager
  if (cause instanceof Gone) return words.notChanged(words.gone)
  return words.notChanged(errorMessage(cause))
}

const icons = { user: UserRound, group: Users, organization: Building2 }

/** Line is a member, a group or the whole organization with its role. Managers change the role and remove it. */
function Line({ subject, role }: { subject: ProjectSubject; role: Role | undefined }) {
  const project = useProject()
  const { data: me } = useQuery(meQuery)
  const { busy, run } = useTask()
  const manages = project.role === 'manager'
  const { kind, id, email, member_count: count } = subject
  const forAll = kind === 'organization'
  const name = forAll ? words.everyone : subject.name
  const Icon = icons[kind]
  /** Changes the role. It does not add a member or group again whom another manager has removed. */
  const give = (next: Role | null) =>
    run(
      async () => {
        await changeGrants(project.id, (grants) => {
          if (!forAll && !hasGrant(grants, subject)) throw new Gone()
          return withGrant(grants, subject, next)
        })
        toast(words.changed, { tone: 'success' })
      },
      (cause) => {
        toastFailure(reasonOf(cause))
        void refreshProjects()
      },
    )
  return (
    <li className={styles.line} data-line>
      <Icon size={18} aria-hidden />
      <div className={styles.what}>
        {name}
        {kind === 'user' && id === me?.id && <small className={styles.quiet}>（{words.you}）</small>}
        {kind === 'group' && <p>{`${words.group}・${words.people(count ?? 0)}`}</p>}
        {kind === 'user' && <p>{email}</p>}
      </div>
      {manages ? (
        <div className={styles.role}>
          <Select
            label={`${words.of(name)}${words.role}`}
            hideLabel
            value={role ?? ''}
            aria-busy={busy}
            onChange={({ target }) => void give((target.value || null) as Role | null)}
            options={roles.map((one) => [one, texts.roles[one]])}
          >
            {forAll && <option value="">{words.noOne}</option>}
          </Select>
        </div>
      ) : (
        role && <span className={styles.facts}>{texts.roles[role]}</span>
      )}
      {manages && !forAll && (
        <EndButton
          label={words.removing.end}
          of={words.removeOf(name)}
          words={words.removing}
          end={() => changeGrants(project.id, (grants) => withGrant(grants, subject, null))}
          reasonOf={reasonOf}
        >
          <p>{words.removing.body(name)}</p>
        </EndButton>
      )}
    </li>
  )
}
