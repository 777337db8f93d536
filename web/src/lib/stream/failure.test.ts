import { expect, it } from 'vitest'
import { backoff } from './backoff'
import { readProblem, retryAfter } from './failure'

it('parses Retry-After in seconds or as a date', () => {
  const now = Date.parse('2026-03-04T05:06:07Z')
  expect(retryAfter(null, now)).toBeNull()
  expect(retryAfter('3', now)).toBe(3000)
  expect(retryAfter(' 0 ', now)).toBe(0)
  expect(retryAfter('Wed, 04 Mar 2026 05:06:17 GMT', now)).toBe(10_000)
  expect(retryAfter('Wed, 04 Mar 2026 05:00:00 GMT', now)).toBe(0)
  for (const odd of ['', '-1', '1.5', 'soon', '99999999']) expect(retryAfter(odd, now)).toBeNull()
})

it('names a refusal without a valid body by its status', async () => {
  for (const body of ['<html>', '', 'null', '[1]', '"x"', '{"code":7}', 'x'.repeat(70_000)]) {
    const failure = await readProblem(new Response(body, { status: 403 }), 0)
    expect(failure.code).toBe('http_403')
    expect(failure.message).toBe('')
  }
})

it('parses the tokens that an answer would take', async () => {
  const problem = { code: 'confirmation_required', detail: 'x', estimated_tokens: 183_000 }
  const failure = await readProblem(new Response(JSON.stringify(problem), { status: 409 }), 0)
  expect(failure).toMatchObject({ code: 'confirmation_required', detail: { estimatedTokens: 183_000 } })
})

it('waits longer each time, up to a limit, with jitter', () => {
  const policy = { firstMs: 1000, maxMs: 10_000 }
  expect(backoff(1, 1800, () => 0.3, policy)).toBe(1800)
  expect(backoff(1, null, () => 0, policy)).toBe(500)
  expect(backoff(1, null, () => 1, policy)).toBe(1000)
  expect(backoff(2, 1800, () => 1, policy)).toBe(3600)
  expect(backoff(3, 1800, () => 0, policy)).toBe(3600)
  expect(backoff(50, 1800, () => 1, policy)).toBe(10_000)
  expect(backoff(1, 600_000, () => 1, policy)).toBe(10_000)
})
