import { describe, expect, it } from 'vitest'
import type { MemberTokens } from '@/lib/api'
import { limitChange, limitOf } from './limit'

const own: MemberTokens = { used: 10, rule: 'own', limit: 500 }
const byDefault: MemberTokens = { used: 10, rule: 'default', limit: 9000 }

describe('the limit of a member', () => {
  it('has no change right after loading', () => {
    for (const tokens of [own, byDefault, { used: 0, rule: 'none' } as const]) {
      expect(limitChange(tokens, limitOf(tokens))).toEqual({})
    }
  })

  it.each([
    [own, { rule: 'default', tokens: '500' }, { rule: 'default' }],
    [own, { rule: 'own', tokens: '５,０００' }, { rule: 'own', tokens: 5000 }],
    [byDefault, { rule: 'own', tokens: '9000' }, { rule: 'own', tokens: 9000 }],
    [byDefault, { rule: 'none', tokens: '' }, { rule: 'none' }],
    [byDefault, { rule: 'own', tokens: '0' }, { rule: 'own' }],
  ] as const)('is sent as the server takes it: %o, %o', (before, after, want) => {
    expect(limitChange(before, after)).toEqual({ token_limit: want })
  })
})
