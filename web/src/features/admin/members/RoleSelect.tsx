import { Select } from '@/components/Field'
import type { Me, Role } from '@/lib/api'
import { members, roles } from '../texts'
import { mayGrant, ROLES } from './may'

/** The choice of a role for a new member; roles that the reader may not grant are shown with the reason. */
export function RoleSelect({
  me,
  label,
  hint,
  value,
  onChange,
}: {
  me: Me
  label: string
  hint?: string
  value: Role
  onChange: (role: Role) => void
}) {
  const grant = mayGrant(me)
  return (
    <Select
      label={label}
      hint={grant ? hint : members.why.grant}
      value={value}
      onChange={(event) => onChange(event.target.value as Role)}
    >
      {ROLES.map((role) => (
        <option key={role} value={role} disabled={role !== 'general-user' && !grant}>
          {roles[role]}
        </option>
      ))}
    </Select>
  )
}
