import type { Me, Member, MemberFilter, Role } from '@/lib/api'
import { members } from '../texts'

const { why } = members

/** The roles of an organization, in ascending order. */
export const ROLES: readonly Role[] = ['general-user', 'organization-admin', 'organization-super-admin']

/**
 * stateOf returns the displayed state of a member. A member who has not signed in since the invitation is still
 * invited.
 */
export function stateOf(member: Member): MemberFilter {
  if (member.state === 'inactive') return 'inactive'
  const { invited_at: invited, last_signed_in_at: last } = member
  if (invited === undefined) return 'active'
  return last === undefined || Date.parse(invited) > Date.parse(last) ? 'invited' : 'active'
}

/**
 * invitationFor returns the mail that can be sent to a member: the invitation again, a request to set a password if
 * they cannot sign in without one, or none. They cannot if single sign-on was switched off, or if it has not linked
 * them yet and links administrators only by their password. `singleSignOn` is undefined while unknown.
 */
export function invitationFor(
  member: Member,
  singleSignOn: boolean | undefined,
): 'again' | 'password' | undefined {
  if (member.state === 'inactive') return undefined
  const unknown = member.role !== 'general-user' && !member.sso_linked
  if (member.auth_type === 'federated_idp' && (singleSignOn === false || unknown)) return 'password'
  return stateOf(member) === 'invited' ? 'again' : undefined
}

/** Whether a member may grant administrators' roles. */
export function mayGrant(me: Me): boolean {
  return me.role === 'organization-super-admin'
}

/**
 * refusalReason returns why one member may not change or remove another; undefined if allowed. The server uses the same
 * rules.
 */
export function refusalReason(me: Me, member: Member): string | undefined {
  if (member.id === me.id) return why.self
  if (member.role === 'system-admin') return why.system
  return member.role === 'general-user' || mayGrant(me) ? undefined : why.admin
}

/** Whether a member may reset the second factor of another, or request it: two administrators reset a super-admin's. */
export function mayResetFactor(me: Me, member: Member): boolean {
  return member.id !== me.id && (member.role === 'organization-super-admin' || !refusalReason(me, member))
}
