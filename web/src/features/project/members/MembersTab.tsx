import { useQuery } from '@tanstack/react-query'
import { Building2, UserPlus, UserRound, Users } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { Select } from '@/components/Field'
import { Loaded } from '@/components/States'
import { refreshProjects } from '@/entities/project/projects'
import {
  ApiError,
  errorMessage,
  type ProjectGrant,
  type ProjectGrants,
  type ProjectSubjectInput,
} from '@/lib/api'
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
  const { id, role } = useProject()
  const [inviting, setInviting] = useState(false)
  const manages = role === 'manager'
  const alone = grants.length === 1 && grants[0]?.subject.kind === 'user'
  const shown = sortGrants(grants)
  const { box, onFocus } = useListFocus<HTMLUListElement>(grants)
  const open = shown.find(({ subject }) => subject.kind === 'organization')
  return (
    <section className={styles.section} aria-label={words.label}>
      <div className={styles.tools}>
        {manages ? (
          <Button variant="primary" onClick={() => setInviting(true)}>
            <UserPlus size={16} aria-hidden />
            {words.invite}
          </Button>
        ) : (
          <p className={styles.quiet}>{words.onlyManagers}</p>
        )}
      </div>
      <ul className={styles.list} aria-label={words.label} ref={box} onFocus={onFocus}>
        {manages && <Everyone grant={open} />}
        {shown
          .filter((grant) => !manages || grant !== open)
          .map((grant) => (
            <Line key={`${grant.subject.kind} ${grant.subject.id ?? ''}`} grant={grant} manages={manages} />
          ))}
      </ul>
      {alone && (
        <p className={styles.quiet}>
          {words.alone}
          {manages && words.aloneHint}
        </p>
      )}
      {inviting && <Invite projectId={id} onClose={() => setInviting(false)} />}
    </section>
  )
}

/** The subject of a line has no role any more. */
class Gone extends Error {}

/**
 * useGrantChange returns a function that gives a subject a role, or removes it with null. It does not add a member or
 * group again whom another manager has removed.
 */
function useGrantChange() {
  const { id } = useProject()
  const { busy, run } = useTask()
  const field = useRef<Element>(null)
  useEffect(() => {
    // A field that was disabled meanwhile has lost the focus.
    if (!busy && field.current instanceof HTMLElement && document.activeElement === document.body)
      field.current.focus({ preventScroll: true })
  }, [busy])
  const give = (subject: ProjectSubjectInput, role: Role | null) => {
    field.current = document.activeElement
    return run(
      async () => {
        await changeGrants(id, (grants) => {
          if (subject.kind !== 'organization' && !hasGrant(grants, subject)) throw new Gone()
          return withGrant(grants, subject, role)
        })
        toast(words.changed, { tone: 'success' })
      },
      (cause) => {
        toastFailure(reasonOf(cause))
        if (cause instanceof Gone) void refreshProjects()
      },
    )
  }
  return { busy, give }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof ApiError && cause.code === 'last_manager') return words.lastManager
  if (cause instanceof Gone) return words.notChanged(words.gone)
  return words.notChanged(errorMessage(cause))
}

/** Everyone is the row for all members of the organization. */
function Everyone({ grant }: { grant: ProjectGrant | undefined }) {
  const { busy, give } = useGrantChange()
  return (
    <li className={styles.line}>
      <Building2 size={18} aria-hidden />
      <div className={styles.what}>{words.everyone}</div>
      <RoleSelect
        label={words.everyone}
        role={grant?.role ?? ''}
        busy={busy}
        none={words.noOne}
        onChange={(role) => void give(everyone, role)}
      />
    </li>
  )
}

function Line({ grant: { subject, role }, manages }: { grant: ProjectGrant; manages: boolean }) {
  const project = useProject()
  const { data: me } = useQuery(meQuery)
  const { busy, give } = useGrantChange()
  const [removing, setRemoving] = useState(false)
  const { kind, id, email, member_count: count } = subject
  const name = kind === 'organization' ? words.everyone : (subject.name ?? '')
  const Icon = { user: UserRound, group: Users, organization: Building2 }[kind]
  const self = kind === 'user' && id === me?.id
  return (
    <li className={styles.line} data-line>
      <Icon size={18} aria-hidden />
      <div className={styles.what}>
        {name}
        {self && <small className={styles.quiet}>（{words.you}）</small>}
        <p>
          {kind === 'group' && `${words.group}・${words.people(count ?? 0)}`}
          {kind === 'user' && email}
        </p>
      </div>
      {manages ? (
        <>
          <RoleSelect label={name} role={role} busy={busy} onChange={(next) => void give(subject, next)} />
          <Button size="sm" variant="quietDanger" onClick={() => setRemoving(true)}>
            <span className="visually-hidden">{words.removeOf(name)}</span>
            {words.remove}
          </Button>
        </>
      ) : (
        <span className={styles.facts}>{texts.roles[role]}</span>
      )}
      {removing && (
        <EndDialog
          words={words.removing}
          end={() => changeGrants(project.id, (grants) => withGrant(grants, subject, null))}
          reasonOf={reasonOf}
          onClose={() => setRemoving(false)}
        >
          <p>{words.removing.body(name)}</p>
        </EndDialog>
      )}
    </li>
  )
}

interface RoleSelectProps {
  readonly label: string
  /** '' for none. */
  readonly role: Role | ''
  readonly busy?: boolean
  /** The name of no role; without it, a role must be chosen. */
  readonly none?: string
  readonly onChange: (role: Role | null) => void
}

/** RoleSelect chooses a role in a project. */
function RoleSelect({ label, role, busy, none, onChange }: RoleSelectProps) {
  return (
    <div className={styles.role}>
      <Select
        label={`${words.of(label)}${words.role}`}
        hideLabel
        value={role}
        disabled={busy}
        onChange={({ target }) => onChange(target.value === '' ? null : (target.value as Role))}
        options={roles.map((one) => [one, texts.roles[one]])}
      >
        {none !== undefined && <option value="">{none}</option>}
      </Select>
    </div>
  )
}
