import type { Me, Member, MemberFilter, Role } from '@/lib/api'
import { texts } from '../texts'

const { why } = texts.members

/** The roles of an organization, the least first. */
export const ROLES: readonly Role[] = ['general-user', 'organization-admin', 'organization-super-admin']

/** The state of a member as the list shows it: who has never signed in since the invitation is still invited. */
export function stateOf(member: Member): MemberFilter {
  if (member.state === 'inactive') return 'inactive'
  return member.invited_at !== undefined && member.last_signed_in_at === undefined ? 'invited' : 'active'
}

/** Whether somebody may give administrators' roles. */
export function mayGrant(me: Me): boolean {
  return me.role === 'organization-super-admin'
}

/** Why somebody may not change or remove a member; undefined if they may. The server decides by the same rules. */
export function whyNot(me: Me, member: Member): string | undefined {
  if (member.id === me.id) return why.self
  if (member.role === 'system-admin') return why.system
  return member.role === 'general-user' || mayGrant(me) ? undefined : why.admin
}
