import { createStore } from 'jotai'
import { beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from '@/lib/api'
import { DecisionSaver } from './decisions'

const accepted = (...ids: number[]) => ({ accepted: ids, refused: [] })

/** setup returns a saver whose server responds as the test specifies. */
function setup() {
  const store = createStore()
  const calls: { lists: unknown; answer: (cause?: unknown) => void }[] = []
  const put = vi.fn(
    (_: string, lists: unknown) =>
      new Promise<void>((resolve, reject) => {
        calls.push({ lists, answer: (cause) => (cause === undefined ? resolve() : reject(cause)) })
      }),
  )
  const events = { onSaved: vi.fn(), onRefused: vi.fn() }
  const saver = new DecisionSaver(store, put, events)
  const state = () => store.get(saver.atom).get('m')
  const answer = async (cause?: unknown) => {
    calls.at(-1)?.answer(cause)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { saver, calls, events, state, answer }
}

beforeEach(() => {
  vi.useFakeTimers()
})

it('shows decisions at once, and saves them together after a short time', async () => {
  const { saver, calls, events, state, answer } = setup()
  saver.decide('m', accepted(1))
  saver.decide('m', accepted(1, 2))
  expect(state()).toEqual({ decided: accepted(1, 2), state: 'saving' })
  expect(calls).toEqual([])
  await vi.advanceTimersByTimeAsync(500)
  expect(calls.map(({ lists }) => lists)).toEqual([accepted(1, 2)])
  await answer()
  expect(events.onSaved).toHaveBeenCalledExactlyOnceWith('m', accepted(1, 2))
  expect(state()).toEqual({ decided: null, state: 'saved' })
})

it('saves later decisions afterwards, so that the newest state is saved last', async () => {
  const { saver, calls, events, answer } = setup()
  saver.decide('m', accepted(1))
  await vi.advanceTimersByTimeAsync(500)
  saver.decide('m', accepted(2))
  await vi.advanceTimersByTimeAsync(5000)
  expect(calls).toHaveLength(1)
  await answer()
  expect(events.onSaved).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(500)
  expect(calls.map(({ lists }) => lists)).toEqual([accepted(1), accepted(2)])
  await answer()
  expect(events.onSaved).toHaveBeenCalledExactlyOnceWith('m', accepted(2))
})

it('retries while the server is unreachable, and reports that', async () => {
  const { saver, calls, events, state, answer } = setup()
  saver.decide('m', accepted(1))
  await vi.advanceTimersByTimeAsync(500)
  await answer(new ApiError(0, {}))
  expect(state()).toEqual({ decided: accepted(1), state: 'retrying' })
  await vi.advanceTimersByTimeAsync(1000)
  await answer(new ApiError(503, {}))
  saver.decide('m', accepted(1, 2))
  expect(state()?.state).toBe('retrying')
  await vi.advanceTimersByTimeAsync(2000)
  await answer()
  expect(calls.map(({ lists }) => lists)).toEqual([accepted(1), accepted(1), accepted(1, 2)])
  expect(events.onSaved).toHaveBeenCalledExactlyOnceWith('m', accepted(1, 2))
})

it('drops decisions that the server refuses', async () => {
  const { saver, calls, events, state, answer } = setup()
  saver.decide('m', accepted(1))
  await vi.advanceTimersByTimeAsync(500)
  const cause = new ApiError(404, {})
  await answer(cause)
  expect(events.onRefused).toHaveBeenCalledExactlyOnceWith('m', accepted(1), cause)
  expect(state()).toBeUndefined()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(calls).toHaveLength(1)
})

it('saves at once before exporting a file and before leaving the page', async () => {
  const { saver, calls, answer } = setup()
  expect(await saver.flush('m')).toBe(true)
  saver.decide('m', accepted(1))
  const stored = saver.flush('m')
  await vi.advanceTimersByTimeAsync(0)
  expect(calls).toHaveLength(1)
  saver.decide('m', accepted(2))
  await answer()
  // Decisions made in the meantime are saved in the next call without another delay.
  expect(calls).toHaveLength(2)
  await answer()
  expect(await stored).toBe(true)
  saver.decide('m', accepted(3))
  saver.flushAll()
  await vi.advanceTimersByTimeAsync(0)
  expect(calls).toHaveLength(3)
})

it('reports to the caller of flush that the server is unreachable', async () => {
  const { saver, answer } = setup()
  saver.decide('m', accepted(1))
  const stored = saver.flush('m')
  await vi.advanceTimersByTimeAsync(0)
  await answer(new ApiError(0, {}))
  expect(await stored).toBe(false)
})
