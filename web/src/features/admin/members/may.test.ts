import { describe, expect, it } from 'vitest'
import type { Me, Member, Role } from '@/lib/api'
import { stateOf, whyNot } from './may'

const me = (role: Role): Me => ({ id: 'me', role }) as Me
const member = (change: Partial<Member>): Member =>
  ({ id: 'm', role: 'general-user', state: 'active', ...change }) as Member

describe('who may change whom', () => {
  it.each([
    ['organization-admin', 'general-user', true],
    ['organization-admin', 'organization-admin', false],
    ['organization-admin', 'organization-super-admin', false],
    ['organization-super-admin', 'general-user', true],
    ['organization-super-admin', 'organization-admin', true],
    ['organization-super-admin', 'organization-super-admin', true],
    ['organization-super-admin', 'system-admin', false],
  ] as const)('%s, %s: %s', (actor, role, allowed) => {
    expect(whyNot(me(actor), member({ role })) === undefined).toBe(allowed)
  })

  it('nobody themself', () => {
    expect(whyNot(me('organization-super-admin'), member({ id: 'me' }))).toContain('ご自身')
  })
})

describe('the state of a member', () => {
  it('is invited until the first sign-in', () => {
    expect(stateOf(member({ invited_at: '2026-11-01T00:00:00Z' }))).toBe('invited')
    const last_signed_in_at = '2026-11-02T00:00:00Z'
    expect(stateOf(member({ invited_at: '2026-11-01T00:00:00Z', last_signed_in_at }))).toBe('active')
    expect(stateOf(member({}))).toBe('active')
    expect(stateOf(member({ state: 'inactive', invited_at: '2026-11-01T00:00:00Z' }))).toBe('inactive')
  })
})
