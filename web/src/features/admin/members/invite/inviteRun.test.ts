import { describe, expect, it, vi } from 'vitest'
import { ApiError, type Invitation, type NewMember } from '@/lib/api'
import { InviteRun } from './inviteRun'

const people = (count: number): NewMember[] =>
  Array.from({ length: count }, (_, at) => ({
    email: `u${at}@example.com`,
    name: `U${at}`,
    role: 'general-user',
  }))

const invited = (users: NewMember[]): Invitation[] => users.map(({ email }) => ({ email, result: 'invited' }))

function keys() {
  let last = 0
  return () => `key-${++last}`
}

describe('inviting a list of people', () => {
  it('sends a hundred people per call, each call with its own key', async () => {
    const invite = vi.fn(async (users: NewMember[]) => invited(users))
    const run = new InviteRun(people(201), invite, keys())
    const progress: number[] = []
    await run.run((outcomes) => progress.push(outcomes.filter((item) => item.result !== null).length))
    expect(invite.mock.calls.map(([users]) => users.length)).toEqual([100, 100, 1])
    expect(invite.mock.calls.map((call) => (call as unknown[])[1])).toEqual(['key-1', 'key-2', 'key-3'])
    expect(progress).toEqual([100, 200, 201])
    expect(run.outcomes.every((item) => item.result === 'invited')).toBe(true)
  })

  it('stops at a failed call, and continues there with the same key', async () => {
    const invite = vi.fn(async (users: NewMember[], _key: string) => invited(users))
    invite.mockResolvedValueOnce(invited(people(100))).mockRejectedValueOnce(new ApiError(0, {}))
    const run = new InviteRun(people(150), invite, keys())
    await expect(run.run(() => {})).rejects.toBeInstanceOf(ApiError)
    expect(run.outcomes.filter((item) => item.result === null)).toHaveLength(50)
    await run.run(() => {})
    expect(invite.mock.calls.map(([, key]) => key)).toEqual(['key-1', 'key-2', 'key-2'])
    expect(run.outcomes.filter((item) => item.result === null)).toHaveLength(0)
  })

  it('leaves out lines that the server refuses, and sends the others as another call', async () => {
    const invite = vi.fn(async (users: NewMember[], _key: string) => invited(users))
    const problem = { errors: [{ field: 'users[1].email', message: '使えないアドレスです。' }] }
    invite.mockRejectedValueOnce(new ApiError(400, problem))
    const run = new InviteRun(people(3), invite, keys())
    await run.run(() => {})
    expect(run.outcomes.map(({ result, message }) => [result, message])).toEqual([
      ['invited', undefined],
      ['refused', '使えないアドレスです。'],
      ['invited', undefined],
    ])
    expect(invite.mock.calls.map(([users, key]) => [users.length, key])).toEqual([
      [3, 'key-1'],
      [2, 'key-2'],
    ])
  })
})
