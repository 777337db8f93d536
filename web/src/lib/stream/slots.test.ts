import { beforeEach, describe, expect, it, vi } from 'vitest'
import { PageLocks } from '@/lib/browser/locks'
import { fakeChannels } from '../live/testing'
import { LockSlots, type Release, type SlotNews, type SlotsDeps } from './slots'

/** A browser whose tabs share its slots. */
function browser() {
  const locks = new PageLocks()
  const channels = fakeChannels<SlotNews>()
  let count = 0
  return (change: Partial<SlotsDeps> = {}) => {
    const deps = {
      locks,
      channel: channels(),
      id: `tab ${++count}`,
      spare: () => false,
      yield: vi.fn(),
      onFree: vi.fn(),
      ...change,
    }
    return { slots: new LockSlots(deps), deps }
  }
}

const never = new AbortController().signal
const settle = () => vi.advanceTimersByTimeAsync(0)

/** Requests a slot in the background; `got` is set once it is granted. */
function take(slots: LockSlots, signal = never) {
  const state: { got: Release | null | undefined } = { got: undefined }
  void slots.take(signal).then((release) => {
    state.got = release
  })
  return state
}

beforeEach(() => {
  vi.useFakeTimers()
})

describe('the slots of a browser', () => {
  it('are four over all tabs, and are granted in order', async () => {
    const tab = browser()
    const [one, two] = [tab(), tab()]
    const held: (Release | null)[] = []
    for (const { slots } of [one, two, one, two]) held.push(await slots.tryTake())
    expect(held.every((release) => release !== null)).toBe(true)
    expect(await one.slots.tryTake()).toBeNull()
    const first = take(two.slots)
    const second = take(one.slots)
    await settle()
    expect([first.got, second.got]).toEqual([undefined, undefined])
    held[1]?.()
    held[1]?.()
    await settle()
    expect(first.got).toBeTypeOf('function')
    expect(second.got).toBeUndefined()
    // No tab overtakes a waiting tab.
    first.got?.()
    expect(await two.slots.tryTake()).toBeNull()
    expect(second.got).toBeTypeOf('function')
  })

  it('that become free are announced to all tabs, even those that do not wait', async () => {
    const tab = browser()
    const [one, two] = [tab(), tab()]
    const release = await one.slots.tryTake()
    expect(two.deps.onFree).not.toHaveBeenCalled()
    release?.()
    await settle()
    expect(one.deps.onFree).toHaveBeenCalledOnce()
    expect(two.deps.onFree).toHaveBeenCalledOnce()
  })

  it('are no longer requested after an abort', async () => {
    const tab = browser()
    const { slots } = tab()
    const held = await Promise.all([1, 2, 3, 4].map(() => slots.tryTake()))
    const leaving = new AbortController()
    const gone = take(slots, leaving.signal)
    const next = take(slots)
    await settle()
    leaving.abort()
    await settle()
    expect(gone.got).toBeNull()
    held[0]?.()
    await settle()
    expect(next.got).toBeTypeOf('function')
    expect(await slots.take(AbortSignal.abort())).toBeNull()
  })

  it('are released by one tab that can spare one, not by all', async () => {
    const tab = browser()
    const yields: string[] = []
    const hidden = ['a', 'b'].map((name) => {
      const held: Release[] = []
      const { slots } = tab({
        spare: () => held.length > 0,
        yield: () => {
          yields.push(name)
          held.pop()?.()
        },
      })
      return { slots, held }
    })
    for (const { slots, held } of [...hidden, ...hidden]) {
      const release = await slots.tryTake()
      if (release !== null) held.push(release)
    }
    const { slots } = tab()
    const wanted = take(slots)
    await settle()
    expect(wanted.got).toBeTypeOf('function')
    expect(yields).toEqual(['a'])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(yields).toEqual(['a'])
  })

  it('are requested again while a tab waits, because other tabs may have been hidden', async () => {
    const tab = browser()
    let hidden = false
    const held: Release[] = []
    const { slots } = tab({ spare: () => hidden && held.length > 0, yield: () => held.pop()?.() })
    for (let i = 0; i < 4; i++) held.push((await slots.tryTake()) as Release)
    const waiting = tab()
    const wanted = take(waiting.slots)
    await settle()
    expect(wanted.got).toBeUndefined()
    hidden = true
    await vi.advanceTimersByTimeAsync(2000)
    expect(wanted.got).toBeTypeOf('function')
    expect(held).toHaveLength(3)
  })
})
