import type { ComponentProps } from 'react'
import { Select } from '@/components/Field'
import type { Me, Role } from '@/lib/api'
import { members, roles } from '../texts'
import { mayGrant, ROLES } from './may'

type RoleSelectProps = ComponentProps<typeof Select> & { me: Me; value: Role }

/** The choice of a role; roles that the reader may not grant are shown with the reason. */
export function RoleSelect({ me, hint, ...field }: RoleSelectProps) {
  const grant = mayGrant(me)
  const choices = ROLES.includes(field.value) ? ROLES : [...ROLES, field.value]
  return (
    <Select {...field} hint={grant || field.disabled ? hint : members.why.grant}>
      {choices.map((role) => (
        <option key={role} value={role} disabled={role !== 'general-user' && !grant}>
          {roles[role]}
        </option>
      ))}
    </Select>
  )
}
