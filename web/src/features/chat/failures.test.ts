import { describe, expect, it } from 'vitest'
import { StreamFailure } from '@/lib/stream'
import { describeFailure } from './failures'

const busy = (retryAfterMs: number) =>
  describeFailure(new StreamFailure('problem', 'overloaded', 503, '', { retryAfterMs }))

describe('how long a busy server asks to wait', () => {
  it.each([
    [300, '1秒ほど'],
    [20_000, '20秒ほど'],
    [90_000, '90秒ほど'],
    [91_000, '2分ほど'],
    [300_000, '5分ほど'],
  ])('%i ms: %s', (wait, words) => expect(busy(wait)).toContain(`${words}待ってから`))
})
