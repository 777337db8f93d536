import { createStore } from 'jotai'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { PageLocks } from '@/lib/browser/locks'
import { fakeChannels } from '../live/testing'
import { FrameCommitter, type FrameSource } from './frames'
import { AnswerStreams, type AnswerView, type LiveAnswer } from './registry'
import { LockSlots, type SlotChannel, type SlotNews } from './slots'
import { type Call, encode, event, fakeDeps, fakeFetch, impatient, script, streamResponse } from './testing'

/** A server whose response bodies stay open and can be written to. */
function liveServer() {
  const bodies: ReadableStreamDefaultController<Uint8Array>[] = []
  const { fetch, calls } = fakeFetch((call) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        bodies.push(controller)
        call.signal.addEventListener('abort', () => controller.error(new DOMException('', 'AbortError')))
      },
    })
    return streamResponse(body)
  })
  const write = async (index: number, ...events: Parameters<typeof encode>[0]) => {
    bodies[index]?.enqueue(encode(events))
    await vi.advanceTimersByTimeAsync(0)
  }
  return { fetch, calls, write }
}

function setup(
  fetch: typeof globalThis.fetch,
  { locks = new PageLocks(), channel = null as SlotChannel | null, id = 'tab' } = {},
) {
  const store = createStore()
  const seen: string[] = []
  const waiting = new Set<() => void>()
  let now = 0
  const frames: FrameSource = {
    request: (callback) => {
      waiting.add(callback)
      return () => waiting.delete(callback)
    },
    now: () => now,
  }
  /** Paints: runs the scheduled callbacks, `ms` later. */
  const paint = (ms = 50) => {
    now += ms
    const callbacks = [...waiting]
    waiting.clear()
    for (const callback of callbacks) callback()
  }
  let hide: (hidden: boolean) => void = () => {}
  const streams = new AnswerStreams({
    store,
    connection: fakeDeps(fetch),
    frames,
    policy: impatient,
    slots: (needs) => new LockSlots({ locks, channel, id, ...needs }),
    observer: {
      onStart: (live) => seen.push(`start ${live.key}`),
      onTitle: (_, view) => seen.push(`title ${view.title?.text}`),
      onEnd: (live, view, text) => seen.push(`end ${live.key} ${view.ending?.kind} ${text}`),
    },
    visibility: (listener) => {
      hide = listener
      return () => {}
    },
  })
  const text = (live: LiveAnswer) => store.get(live.textAtom)
  const view = (live: LiveAnswer): AnswerView => store.get(live.viewAtom)
  return { store, streams, seen, paint, text, view, hide: (hidden: boolean) => hide(hidden) }
}

const connected = (calls: readonly Call[]) => calls.filter((call) => !call.signal.aborted).length

beforeEach(() => {
  vi.useFakeTimers()
})

describe('AnswerStreams', () => {
  it('batches text between two paints into one change', async () => {
    const { fetch, write } = liveServer()
    const { store, streams, paint, text } = setup(fetch)
    const live = streams.send('r1', { request_id: 'r1' })
    await vi.advanceTimersByTimeAsync(0)
    await write(0, event.start(1))
    let changes = 0
    store.sub(live.textAtom, () => changes++)
    await write(0, event.delta(1, 3, 'あ'), event.delta(1, 6, 'い'))
    await write(0, event.delta(1, 9, 'う'))
    expect(text(live)).toBe('')
    paint()
    expect(text(live)).toBe('あいう')
    expect(changes).toBe(1)
    await write(0, event.delta(1, 12, 'え'))
    paint(16)
    expect(text(live)).toBe('あいう')
    paint(34)
    expect(text(live)).toBe('あいうえ')
  })

  it('reports start, title and end once, with the final text in place', async () => {
    const { fetch, write } = liveServer()
    const { streams, seen, text, view } = setup(fetch)
    const live = streams.send('r1', {})
    await vi.advanceTimersByTimeAsync(0)
    expect(view(live)).toMatchObject({ messageId: null, line: 'closed' })
    await write(0, ...script(1, ['答え', 'です'], null))
    expect(seen).toEqual(['start r1', 'title 題', 'end r1 done 答えです'])
    expect(text(live)).toBe('答えです')
    expect(view(live)).toMatchObject({ messageId: 'answer', threadId: 'thread', ending: { kind: 'done' } })
    expect(streams.find('answer')).toBe(live)
    expect(streams.find('r1')).toBe(live)
  })

  it('reports stalled text until it continues or ends', async () => {
    const { fetch, write } = liveServer()
    const { streams, paint, view } = setup(fetch)
    const live = streams.send('r1', {})
    const wait = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      paint()
    }
    await wait(0)
    await write(0, event.start(1))
    await wait(10_000)
    expect(view(live).stalled).toBe(false)
    await write(0, event.delta(1, 3, 'あ'))
    paint()
    await wait(3900)
    await write(0, event.delta(1, 6, 'い'))
    paint()
    await wait(3900)
    expect(view(live).stalled).toBe(false)
    // Events without text do not count as progress.
    await write(0, event.step('success'))
    await wait(200)
    expect(view(live)).toMatchObject({ stalled: true, line: 'open' })
    await write(0, event.delta(1, 9, 'う'))
    paint()
    expect(view(live).stalled).toBe(false)
    await wait(4100)
    expect(view(live).stalled).toBe(true)
    await write(0, event.reset(2))
    paint()
    expect(view(live)).toMatchObject({ stalled: false, rewriting: true, hasText: false })
    await write(0, event.delta(2, 3, 'え'), event.finish(2, 3), event.done())
    await wait(10_000)
    expect(view(live)).toMatchObject({ stalled: false, ending: { kind: 'done' } })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sends each question once, and retries on request after a failure', async () => {
    const { fetch, calls } = fakeFetch(() => new Response('{"code":"thread_busy"}', { status: 409 }))
    const { streams, view } = setup(fetch)
    const first = streams.send('r1', { a: 1 })
    expect(streams.send('r1', { a: 1 })).toBe(first)
    await vi.advanceTimersByTimeAsync(0)
    expect(view(first).ending).toMatchObject({ kind: 'failed', failure: { code: 'thread_busy' } })
    expect(calls).toHaveLength(1)
    const second = streams.send('r1', { a: 1 })
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toHaveLength(2)
    expect(view(second).ending).not.toBeNull()
  })

  it('continues to read unwatched answers, and shows all text on return', async () => {
    const { fetch, calls, write } = liveServer()
    const { streams, paint, text } = setup(fetch)
    const live = streams.attach('answer', 'thread')
    expect(calls).toHaveLength(0)
    const leave = streams.watch(live)
    await vi.advanceTimersByTimeAsync(0)
    expect(calls[0]).toMatchObject({ method: 'GET', url: '/v1/message/answer/stream', cursor: null })
    await write(0, event.start(1), event.delta(1, 3, 'あ'))
    leave()
    leave()
    await write(0, event.delta(1, 6, 'い'))
    paint()
    expect(connected(calls)).toBe(1)
    expect(text(streams.attach('answer', 'thread'))).toBe('あい')
    expect(streams.running('thread')).toEqual([live])
  })

  it('keeps four connections, closes the longest unwatched one, and resumes it by its cursor', async () => {
    const { fetch, calls, write } = liveServer()
    const { streams, paint, text } = setup(fetch)
    const lives = ['a', 'b', 'c', 'd', 'e'].map((id) => streams.attach(id, 'thread'))
    const first = lives[0] as LiveAnswer
    for (const [index, live] of lives.entries()) {
      const leave = streams.watch(live)
      await vi.advanceTimersByTimeAsync(0)
      await write(index, event.start(1, live.key), event.delta(1, 3, 'あ'))
      leave()
    }
    paint()
    expect(connected(calls)).toBe(4)
    expect(calls[0]?.signal.aborted).toBe(true)
    streams.watch(first)
    await vi.advanceTimersByTimeAsync(0)
    expect(text(first)).toBe('あ')
    expect(calls.at(-1)).toMatchObject({ url: '/v1/message/a/stream', cursor: '1-3' })
    expect(calls[1]?.signal.aborted).toBe(true)
    expect(connected(calls)).toBe(4)
  })

  it('closes its connections in a tab hidden for a minute, and resumes watched ones', async () => {
    const { fetch, calls, write } = liveServer()
    const { streams, hide } = setup(fetch)
    const live = streams.send('r1', {})
    streams.watch(live)
    await vi.advanceTimersByTimeAsync(0)
    hide(true)
    await vi.advanceTimersByTimeAsync(30_000)
    await write(0, event.start(1), event.delta(1, 3, 'あ'))
    hide(false)
    hide(true)
    await vi.advanceTimersByTimeAsync(35_000)
    expect(connected(calls)).toBe(1)
    await write(0, event.delta(1, 6, 'い'))
    await vi.advanceTimersByTimeAsync(26_000)
    expect(connected(calls)).toBe(0)
    hide(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(calls.at(-1)).toMatchObject({ method: 'GET', cursor: '1-6' })
  })

  it('keeps the old text on the screen during a resync', async () => {
    const { fetch, calls, write } = liveServer()
    const { streams, paint, text } = setup(fetch)
    const live = streams.send('r1', {})
    await vi.advanceTimersByTimeAsync(0)
    await write(0, event.start(1), event.delta(1, 3, 'あ'), event.delta(1, 99, 'ん'))
    paint()
    await vi.advanceTimersByTimeAsync(0)
    paint()
    expect(text(live)).toBe('')
    expect(calls).toHaveLength(2)
    await write(1, event.start(1), event.delta(1, 6, 'あい'))
    paint()
    expect(text(live)).toBe('あい')
    await write(1, event.delta(1, 99, 'ん'))
    await vi.advanceTimersByTimeAsync(0)
    paint()
    expect(text(live)).toBe('あい')
  })

  it('closes everything at the end', async () => {
    const { fetch, calls } = liveServer()
    const { streams } = setup(fetch)
    const live = streams.send('r1', {})
    await vi.advanceTimersByTimeAsync(0)
    streams.close()
    await vi.advanceTimersByTimeAsync(0)
    expect(connected(calls)).toBe(0)
    expect(streams.find('r1')).toBeUndefined()
    streams.watch(live)()
  })
})

describe('R17: tabs that share the slots of a browser', () => {
  const exchange = (request: string) =>
    Response.json(
      { question: { id: `q-${request}` }, answer: { id: `m-${request}`, thread_id: 'thread' } },
      { status: 202 },
    )

  /** A browser whose server responds to streams, and to calls that deliver a question. */
  function browser() {
    const locks = new PageLocks()
    const channels = fakeChannels<SlotNews>()
    const bodies = new Map<string, ReadableStreamDefaultController<Uint8Array>>()
    const { fetch, calls } = fakeFetch((call) => {
      const name = call.body === null ? call.url.split('/')[3] : `m-${JSON.parse(call.body).request_id}`
      if (call.url.endsWith('/async')) return exchange(JSON.parse(call.body ?? '{}').request_id)
      return streamResponse(
        new ReadableStream<Uint8Array>({
          start: (controller) => {
            bodies.set(name ?? '', controller)
            call.signal.addEventListener('abort', () => controller.error(new DOMException('', 'AbortError')))
          },
        }),
      )
    })
    const write = async (message: string, ...events: Parameters<typeof encode>[0]) => {
      bodies.get(message)?.enqueue(encode(events))
      await vi.advanceTimersByTimeAsync(0)
    }
    const streaming = () =>
      calls.filter((call) => !call.signal.aborted && !call.url.endsWith('/async')).map((call) => call.url)
    let count = 0
    const tab = () => setup(fetch, { locks, channel: channels(), id: `tab ${++count}` })
    return { tab, write, calls, streaming, channels }
  }

  const ask = async ({ streams }: ReturnType<typeof setup>, id: string) => {
    const live = streams.send(id, { request_id: id })
    const leave = streams.watch(live)
    await vi.advanceTimersByTimeAsync(0)
    return { live, leave }
  }

  it('are limited to four streams; a question without one is delivered, and streams later', async () => {
    const { tab, write, calls, streaming } = browser()
    const tabs = Array.from({ length: 7 }, tab)
    const asked = []
    for (const [index, each] of tabs.entries()) {
      asked.push(await ask(each, `r${index}`))
      await write(`m-r${index}`, event.start(1, `m-r${index}`), event.delta(1, 3, 'あ'))
    }
    expect(streaming()).toHaveLength(4)
    expect(calls.filter((call) => call.url === '/v1/message/async')).toHaveLength(3)
    for (const [index, each] of tabs.entries()) expect(each.seen).toEqual([`start r${index}`])

    await write('m-r0', event.finish(1, 3), event.done())
    expect(tabs[0]?.seen).toEqual(['start r0', 'end r0 done あ'])
    expect(streaming()).toContain('/v1/message/m-r4/stream')
    for (const index of [1, 2, 3]) await write(`m-r${index}`, event.finish(1, 3), event.done())
    for (const index of [4, 5, 6]) {
      await write(`m-r${index}`, ...script(1, ['あ', 'い'], null))
      expect(tabs[index]?.seen.at(-1)).toBe(`end r${index} done あい`)
    }
    expect(streaming()).toEqual([])
  })

  it('serve the visible tab first, and resume a hidden one at its position', async () => {
    const { tab, write, calls, streaming } = browser()
    const tabs = Array.from({ length: 5 }, tab)
    const asked = []
    for (const [index, each] of tabs.slice(0, 4).entries()) {
      asked.push(await ask(each, `r${index}`))
      await write(`m-r${index}`, event.start(1, `m-r${index}`), event.delta(1, 3, 'あ'))
    }
    tabs[0]?.hide(true)
    const last = tabs[4] as ReturnType<typeof setup>
    await ask(last, 'r4')
    expect(calls.at(-1)?.url).toBe('/v1/message/m-r4/stream')
    expect(streaming()).toHaveLength(4)
    expect(last.seen).toEqual(['start r4'])

    await write('m-r1', event.finish(1, 3), event.done())
    expect(streaming()).toHaveLength(3)
    tabs[0]?.hide(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(calls.at(-1)).toMatchObject({ url: '/v1/message/m-r0/stream', cursor: '1-3' })
    await write('m-r0', event.start(1, 'm-r0'), event.delta(1, 6, 'い'))
    tabs[0]?.paint()
    expect(tabs[0]?.text(asked[0]?.live as LiveAnswer)).toBe('あい')
  })

  it('do not take back released slots while hidden', async () => {
    const { tab, write, streaming, channels } = browser()
    const hidden = tab()
    await ask(hidden, 'r0')
    await write('m-r0', event.start(1, 'm-r0'), event.delta(1, 3, 'あ'))
    hidden.hide(true)
    const other = channels()
    other.postMessage({ kind: 'accept', from: 'other', to: 'tab 1' })
    await vi.advanceTimersByTimeAsync(0)
    // The requesting tab has not taken its lock yet.
    expect(streaming()).toEqual([])
    hidden.hide(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(streaming()).toEqual(['/v1/message/m-r0/stream'])
  })

  it('receive the end of an answer without a stream from another source', async () => {
    const { tab, write } = browser()
    const tabs = Array.from({ length: 5 }, tab)
    for (const [index, each] of tabs.entries()) await ask(each, `r${index}`)
    const [first, last] = [tabs[0], tabs[4]]
    last?.streams.conclude('m-r4')
    expect(last?.seen).toEqual(['start r4', 'end r4 gone '])
    // An answer with a stream receives it from the stream.
    await write('m-r0', event.start(1, 'm-r0'), event.delta(1, 3, 'あ'))
    first?.streams.conclude('m-r0')
    expect(first?.seen).toEqual(['start r0'])
    await write('m-r0', event.finish(1, 3), event.done())
    first?.streams.conclude('m-r0')
    expect(first?.seen).toEqual(['start r0', 'end r0 done あ'])
  })

  it('leave the queue with an answer that is no longer watched', async () => {
    const { tab, write, streaming } = browser()
    const tabs = Array.from({ length: 6 }, tab)
    const asked = []
    for (const [index, each] of tabs.entries()) asked.push(await ask(each, `r${index}`))
    asked[4]?.leave()
    await write('m-r0', event.start(1, 'm-r0'), event.finish(1, 0), event.done())
    expect(streaming()).toContain('/v1/message/m-r5/stream')
    expect(streaming()).not.toContain('/v1/message/m-r4/stream')
    tabs[4]?.streams.watch(asked[4]?.live as LiveAnswer)
    await write('m-r1', event.start(1, 'm-r1'), event.finish(1, 0), event.done())
    expect(streaming()).toContain('/v1/message/m-r4/stream')
  })

  it('report when a busy server must be retried', async () => {
    const busy = () => new Response('{"code":"busy"}', { status: 503, headers: { 'retry-after': '4' } })
    const { fetch, calls } = fakeFetch((_, index) =>
      index === 0 ? busy() : new Response(null, { status: 204 }),
    )
    const { streams, paint, view } = setup(fetch)
    const live = streams.send('r1', {})
    await vi.advanceTimersByTimeAsync(0)
    paint()
    expect(view(live)).toMatchObject({ line: 'waiting', busyUntil: Date.now() + 4000 })
    await vi.advanceTimersByTimeAsync(4000)
    paint()
    expect(view(live).busyUntil).toBeNull()
    expect(calls).toHaveLength(2)
  })
})

describe('FrameCommitter', () => {
  it('commits at once when flushed, and drops the scheduled commit', () => {
    const callbacks = new Set<() => void>()
    const commit = vi.fn()
    const committer = new FrameCommitter(
      {
        request: (callback) => {
          callbacks.add(callback)
          return () => callbacks.delete(callback)
        },
        now: () => 0,
      },
      commit,
    )
    committer.schedule()
    committer.schedule()
    expect(callbacks.size).toBe(1)
    committer.flush()
    expect(callbacks.size).toBe(0)
    expect(commit).toHaveBeenCalledTimes(1)
  })
})
