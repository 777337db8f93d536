import { describe, expect, it } from 'vitest'
import { StreamFailure } from '@/lib/stream'
import { describeFailure } from './failures'

const busy = (retryAfterMs: number) =>
  describeFailure(new StreamFailure('problem', 'overloaded', 503, '', { retryAfterMs }))

it('shows the server’s reason for being unavailable', () => {
  const detail = 'データベースに接続できません。少し時間をおいて、もう一度お試しください。'
  const failure = new StreamFailure('problem', 'unavailable', 503, detail, { retryAfterMs: 5000 })
  expect(describeFailure(failure)).toBe(detail)
})

describe('the wait for a busy server', () => {
  it.each([
    [300, '1秒ほど'],
    [20_000, '20秒ほど'],
    [90_000, '90秒ほど'],
    [91_000, '2分ほど'],
    [300_000, '5分ほど'],
  ])('%i ms: %s', (wait, words) => expect(busy(wait)).toContain(`${words}待ってから`))
})
