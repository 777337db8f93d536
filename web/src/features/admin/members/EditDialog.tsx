import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Select, TextField } from '@/components/Field'
import { call, errorsByField, type Me, type Member, type UserEditRequest } from '@/lib/api'
import { type FormErrors, fieldOf, useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { FormDialog } from '../parts/FormDialog'
import { Notice } from '../parts/Page'
import { refreshMembers } from '../queries'
import { common, states, editing as words } from '../texts'
import styles from './Dialogs.module.css'
import { LimitField } from './LimitField'
import { type LimitValues, limitChange, limitOf, typedTokens } from './limit'
import { refusalReason, stateOf } from './may'
import { RoleSelect } from './RoleSelect'

type Values = Pick<Member, 'name' | 'role' | 'state'> & LimitValues

/** Changes a member's name, role, state and limit. Fields that the reader may not change are shown with the reason. */
export function EditDialog({ me, member, onClose }: { me: Me; member: Member; onClose: () => void }) {
  const refused = refusalReason(me, member)
  const disabled = refused !== undefined
  const { values, errors, change, ...form } = useForm<Values>({
    initial: () => ({ ...member, ...limitOf(member.tokens) }),
    check: checkValues,
    send: async (next) => {
      const body = changeOf(member, next)
      if (Object.keys(body).length === 0) return onClose()
      const saved = await call('editUser', { user_id: member.id, body })
      toast(words.saved(saved.name), { tone: 'success' })
      onClose()
      void refreshMembers()
    },
    explain: (cause) => errorsByField(cause, (field) => names[field]),
  })
  const fields = { values, errors, onChange: change }
  const content = (
    <>
      <Account member={member} />
      <TextField
        label={words.name}
        disabled={disabled}
        autoComplete="off"
        maxLength={200}
        {...fieldOf(fields, 'name')}
      />
      <RoleSelect
        me={me}
        label={words.role}
        hint={words.roleHints[values.role]}
        disabled={disabled}
        {...fieldOf(fields, 'role')}
      />
      <Select
        label={words.state}
        hint={stateOf(member) === 'invited' ? words.invitedHint : words.stateHint}
        disabled={disabled}
        {...fieldOf(fields, 'state')}
        options={[
          ['active', states[stateOf({ ...member, state: 'active' })]],
          ['inactive', states.inactive],
        ]}
      />
      <LimitField disabled={disabled} fields={fields} />
    </>
  )
  if (disabled) {
    return (
      <Dialog
        title={words.title(member.name)}
        onClose={onClose}
        actions={<Button onClick={onClose}>{common.close}</Button>}
      >
        <div className={styles.body}>
          <Notice level="info">{refused}</Notice>
          {content}
        </div>
      </Dialog>
    )
  }
  return (
    <FormDialog title={words.title(member.name)} submit={words.save} form={form} onClose={onClose}>
      {content}
    </FormDialog>
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

function checkValues({ name, rule, tokens }: Values): FormErrors<Values> {
  if (name.trim() === '') return { name: words.nameRequired }
  return rule === 'own' && typedTokens(tokens) === undefined ? { tokens: words.limit.wrong } : {}
}

function changeOf(member: Member, values: Values): UserEditRequest {
  const name = values.name.trim()
  return {
    ...(name !== member.name && { name }),
    ...(values.role !== member.role && { role: values.role }),
    ...(values.state !== member.state && { state: values.state }),
    ...limitChange(member.tokens, values),
  }
}

const names: Readonly<Record<string, keyof Values>> = {
  name: 'name',
  role: 'role',
  state: 'state',
  'token_limit.tokens': 'tokens',
}
