import { expect, it } from 'vitest'
import { statusOf } from './status'

it('has ended after its last day in Japan, whatever its stored status', () => {
  const contract = { status: 'active', ends_on: '2026-11-21' } as const
  expect(statusOf(contract, Date.parse('2026-11-21T23:59:59+09:00'))).toBe('active')
  expect(statusOf(contract, Date.parse('2026-11-22T00:00:01+09:00'))).toBe('ended')
  expect(statusOf({ ...contract, status: 'suspended' }, Date.parse('2026-11-22T00:00:01+09:00'))).toBe(
    'ended',
  )
  expect(statusOf({ status: 'trial' })).toBe('trial')
})
