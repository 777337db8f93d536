import { describe, expect, it } from 'vitest'
import type { Me, Member, Role } from '@/lib/api'
import { invitationFor, refusalReason, stateOf } from './may'

const me = (role: Role): Me => ({ id: 'me', role }) as Me
const member = (change: Partial<Member>): Member =>
  ({ id: 'm', role: 'general-user', state: 'active', ...change }) as Member

describe('changing members', () => {
  it.each([
    ['organization-admin', 'general-user', true],
    ['organization-admin', 'organization-admin', false],
    ['organization-admin', 'organization-super-admin', false],
    ['organization-super-admin', 'general-user', true],
    ['organization-super-admin', 'organization-admin', true],
    ['organization-super-admin', 'organization-super-admin', true],
    ['organization-super-admin', 'system-admin', false],
  ] as const)('%s, %s: %s', (actor, role, allowed) => {
    expect(refusalReason(me(actor), member({ role })) === undefined).toBe(allowed)
  })

  it('is refused for the user’s own account', () => {
    expect(refusalReason(me('organization-super-admin'), member({ id: 'me' }))).toContain('ご自身')
  })
})

describe('the state of a member', () => {
  it('is invited until the first sign-in', () => {
    expect(stateOf(member({ invited_at: '2026-11-01T00:00:00Z' }))).toBe('invited')
    const last_signed_in_at = '2026-11-02T00:00:00Z'
    expect(stateOf(member({ invited_at: '2026-11-01T00:00:00Z', last_signed_in_at }))).toBe('active')
    expect(stateOf(member({ invited_at: '2026-11-03T00:00:00Z', last_signed_in_at }))).toBe('invited')
    expect(stateOf(member({}))).toBe('active')
    expect(stateOf(member({ state: 'inactive', invited_at: '2026-11-01T00:00:00Z' }))).toBe('inactive')
  })
})

describe('the invitation of a member', () => {
  const invited = { invited_at: '2026-11-01T00:00:00Z' } as const
  const federated = { auth_type: 'federated_idp', last_signed_in_at: '2026-11-02T00:00:00Z' } as const
  it.each([
    ['an invited one', invited, false, 'again'],
    ['an invited federated one', { ...invited, auth_type: 'federated_idp' }, true, 'again'],
    ['one with a password', { auth_type: 'cognito' }, false, undefined],
    ['a federated one with single sign-on', federated, true, undefined],
    ['a federated one with unknown single sign-on', federated, undefined, undefined],
    ['a federated one without single sign-on', federated, false, 'password'],
    [
      'an invited federated one without single sign-on',
      { ...invited, auth_type: 'federated_idp' },
      false,
      'password',
    ],
    ['an administrator without a link', { ...federated, role: 'organization-admin' }, true, 'password'],
    [
      'an administrator with a link',
      { ...federated, role: 'organization-admin', sso_linked: true },
      true,
      undefined,
    ],
    ['an inactive one', { ...federated, state: 'inactive' }, false, undefined],
  ] as const)('%s', (_, change, singleSignOn, want) => {
    expect(invitationFor(member(change), singleSignOn)).toBe(want)
  })
})
