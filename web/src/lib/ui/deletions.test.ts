import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call } from '@/lib/api'
import { Deletions } from './deletions'
import { UNDO_MS } from './toast'

const items = Array.from({ length: 700 }, (_, at) => ({ id: String(at) }))
const ids = items.map(({ id }) => id)

/** A server that refuses deletions after the first 600 with 429, until the test resets its limit. */
let accepted: Set<string>
let refuses: boolean
let calls: number
let parallel: number
let mostParallel: number

const onGone = vi.fn()
let deletions: Deletions

beforeEach(() => {
  vi.useFakeTimers()
  accepted = new Set()
  refuses = true
  calls = parallel = mostParallel = 0
  onGone.mockReset()
  deletions = new Deletions({
    remove: (id) => call('deleteThread', { thread_id: id }),
    onGone,
    texts: { deleted: String, failed: 'failed' },
  })
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    calls++
    mostParallel = Math.max(mostParallel, ++parallel)
    await new Promise((resolve) => setTimeout(resolve, 1))
    parallel--
    if (refuses && accepted.size >= 600) {
      return new Response('{}', { status: 429, headers: { 'Retry-After': '30' } })
    }
    accepted.add(url.split('/').at(-1) ?? '')
    return new Response(null, { status: 204 })
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('many deletions', () => {
  it('are sent a few at a time, and wait as long as the server asks for', async () => {
    const { result } = renderHook(() => deletions.useKept(items))
    act(() => deletions.delete(ids))
    await act(() => vi.advanceTimersByTimeAsync(UNDO_MS + 25_000))
    expect(accepted.size).toBe(600)
    const before = calls
    expect(result.current).toEqual([])
    expect(deletions.has('699')).toBe(true)
    refuses = false
    await act(() => vi.advanceTimersByTimeAsync(3_000))
    expect(calls).toBe(before)
    await act(() => vi.advanceTimersByTimeAsync(5_000))
    expect([...accepted].sort()).toEqual([...ids].sort())
    expect(onGone.mock.calls.flatMap(([gone]) => gone).sort()).toEqual([...ids].sort())
    expect(mostParallel).toBeLessThan(10)
    expect(calls).toBeLessThan(720)
  })

  it('are all sent when the page closes, those that wait for the server included', async () => {
    act(() => deletions.delete(ids))
    await act(() => vi.advanceTimersByTimeAsync(UNDO_MS + 10_000))
    expect(accepted.size).toBe(600)
    refuses = false
    act(() => deletions.flush())
    await act(() => vi.advanceTimersByTimeAsync(1))
    expect(accepted.size).toBe(700)
  })
})
