import { type FormEvent, useId, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { FieldErrorText, Select, TextField } from '@/components/Field'
import {
  ApiError,
  call,
  errorMessage,
  type Me,
  type Member,
  type Role,
  type UserEditRequest,
} from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { Notice } from '../parts/Page'
import { refreshMembers } from '../queries'
import { common, members, roles as roleNames, states, editing as words } from '../texts'
import styles from './Dialogs.module.css'
import { LimitField } from './LimitField'
import { type LimitValues, limitChange, limitOf } from './limit'
import { mayGrant, ROLES, refusalReason, stateOf } from './may'

interface Values extends LimitValues {
  name: string
  role: Role
  state: Member['state']
}

/** Changes a member's name, role, state and limit. Fields that the reader may not change are shown with the reason. */
export function EditDialog({ me, member, onClose }: { me: Me; member: Member; onClose: () => void }) {
  const [values, setValues] = useState<Values>({ ...member, ...limitOf(member.tokens) })
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const name = useRef<HTMLInputElement>(null)
  const form = useId()
  const refused = refusalReason(me, member)
  const change = changeOf(member, values)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy || refused) return
    if (values.name.trim() === '') {
      setError(new ApiError(400, { errors: [{ field: 'name', message: words.nameRequired }] }))
      name.current?.focus()
      return
    }
    if (change === null) return onClose()
    if (change.token_limit?.rule === 'own' && change.token_limit.tokens === undefined) {
      return setError(
        new ApiError(400, { errors: [{ field: 'token_limit.tokens', message: words.limit.wrong }] }),
      )
    }
    setBusy(true)
    try {
      const saved = await call('editUser', { user_id: member.id, body: change })
      toast(words.saved(saved.name), { tone: 'success' })
      onClose()
      void refreshMembers()
    } catch (cause) {
      setError(cause)
      setBusy(false)
    }
  }

  const set = (next: Partial<Values>) => {
    setValues({ ...values, ...next })
    setError(null)
  }
  return (
    <Dialog
      title={words.title(member.name)}
      onClose={onClose}
      actions={
        refused ? (
          <Button onClick={onClose}>{common.close}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{common.cancel}</Button>
            <Button variant="primary" type="submit" form={form} loading={busy}>
              {words.save}
            </Button>
          </>
        )
      }
    >
      <form className={styles.body} id={form} noValidate onSubmit={(event) => void submit(event)}>
        {refused && <Notice level="info">{refused}</Notice>}
        <Account member={member} />
        <TextField
          ref={name}
          label={words.name}
          value={values.name}
          disabled={refused !== undefined}
          autoComplete="off"
          maxLength={200}
          error={fieldOf(error, 'name')}
          onChange={(event) => set({ name: event.target.value })}
        />
        <RoleField me={me} values={values} refused={refused} error={fieldOf(error, 'role')} onChange={set} />
        <Select
          label={words.state}
          hint={stateOf(member) === 'invited' ? words.invitedHint : words.stateHint}
          value={values.state}
          disabled={refused !== undefined}
          error={fieldOf(error, 'state')}
          onChange={(event) => set({ state: event.target.value as Member['state'] })}
        >
          <option value="active">{states[stateOf({ ...member, state: 'active' })]}</option>
          <option value="inactive">{states.inactive}</option>
        </Select>
        <LimitField
          values={values}
          disabled={refused !== undefined}
          error={fieldOf(error, 'token_limit.tokens')}
          onChange={set}
        />
        <div role="alert">{hasNoField(error) && <FieldErrorText>{errorMessage(error)}</FieldErrorText>}</div>
      </form>
    </Dialog>
  )
}

interface RoleFieldProps {
  me: Me
  values: Values
  refused: string | undefined
  error: string | undefined
  onChange: (next: Partial<Values>) => void
}

function RoleField({ me, values, refused, error, onChange }: RoleFieldProps) {
  const grant = mayGrant(me)
  const roles = ROLES.includes(values.role) ? ROLES : [...ROLES, values.role]
  const hint = words.roleHints[values.role]
  return (
    <Select
      label={words.role}
      hint={refused === undefined && !grant ? members.why.grant : hint}
      value={values.role}
      disabled={refused !== undefined}
      error={error}
      onChange={(event) => onChange({ role: event.target.value as Role })}
    >
      {roles.map((role) => (
        <option key={role} value={role} disabled={role !== 'general-user' && !grant}>
          {roleNames[role]}
        </option>
      ))}
    </Select>
  )
}

function Account({ member }: { member: Member }) {
  return (
    <dl className={styles.account}>
      <div>
        <dt>{words.email}</dt>
        <dd>{member.email}</dd>
      </div>
      <div>
        <dt>{words.signIn}</dt>
        <dd>{member.auth_type === 'cognito' ? words.password : words.federated}</dd>
      </div>
    </dl>
  )
}

/** The changes; null if nothing changed. */
function changeOf(member: Member, values: Values): UserEditRequest | null {
  const name = values.name.trim()
  const change: UserEditRequest = {
    ...(name !== member.name && { name }),
    ...(values.role !== member.role && { role: values.role }),
    ...(values.state !== member.state && { state: values.state }),
    ...limitChange(member.tokens, values),
  }
  return Object.keys(change).length > 0 ? change : null
}

function fieldOf(error: unknown, name: string): string | undefined {
  return error instanceof ApiError ? error.field(name) : undefined
}

function hasNoField(error: unknown): boolean {
  return error !== null && !(error instanceof ApiError && error.fields.length > 0)
}
