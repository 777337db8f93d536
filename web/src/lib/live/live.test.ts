import { beforeEach, describe, expect, it, vi } from 'vitest'
import { type Locks, PageLocks } from '@/lib/browser/locks'
import type { LiveFrame } from './frames'
import { type Channel, Live, type LiveDeps, type TabNews } from './live'
import type { SocketListener } from './socket'
import { fakeChannels, fakeWake } from './testing'

/** A browser with tabs. The test acts as the server. */
function browser(change: Partial<LiveDeps> = {}) {
  const locks: Locks = new PageLocks()
  const channels = new Map<string, ReturnType<typeof fakeChannels<TabNews>>>()
  const lines: { listener: SocketListener; ready: boolean; stopped: boolean; wakes: string[] }[] = []
  let count = 0
  const open = (user = 'somebody') => {
    const { wake, fire } = fakeWake()
    const seen: string[] = []
    let visible = true
    let channel: Channel | undefined
    const live = new Live({
      connect: (listener) => {
        const line = { listener, ready: false, stopped: false, wakes: [] as string[] }
        lines.push(line)
        return {
          get ready() {
            return line.ready
          },
          wake: (reason) => line.wakes.push(reason),
          stop: () => {
            line.stopped = true
          },
        }
      },
      locks,
      channel: (name) => {
        const ends = channels.get(name) ?? fakeChannels<TabNews>()
        channels.set(name, ends)
        channel = ends()
        return channel
      },
      user: () => user,
      wake,
      visible: () => visible,
      random: () => 0,
      newId: () => `tab ${++count}`,
      ...change,
    })
    live.on('thread', ({ id, thread }) => seen.push(`thread ${id ?? thread.id}`))
    live.on('message', ({ message }) => seen.push(`message ${message?.id}`))
    live.on('notification', ({ notification, read, id }) =>
      seen.push(`notice ${notification?.id ?? read ?? id}`),
    )
    live.on('data_source', ({ id, data_source }) => seen.push(`file ${id ?? data_source.id}`))
    live.onMissed(() => seen.push('missed'))
    const stop = live.start()
    return {
      live,
      stop,
      fire,
      seen: () => seen.splice(0),
      /** Makes the tab neither send nor receive, like a tab that the browser has frozen. */
      freeze: () => {
        if (channel) channel.onmessage = null
      },
      look: (yes: boolean) => {
        visible = yes
        if (yes) fire('visible')
      },
    }
  }
  const leading = () => lines.filter((line) => !line.stopped)
  const tell = (frame: LiveFrame) => {
    const line = leading()[0]
    if (line === undefined) throw new Error('nobody listens')
    if (frame.type === 'ready' && !line.ready) {
      line.ready = true
      line.listener.onState(true)
    }
    line.listener.onFrame(frame)
  }
  return { open, lines, leading, tell }
}

const settle = () => vi.advanceTimersByTimeAsync(500)
const deleted = (id: string) => ({ type: 'thread', id, deleted: true }) as const

beforeEach(() => {
  vi.useFakeTimers()
})

describe('the tabs of a browser', () => {
  it('share one connection and receive its events', async () => {
    const { open, leading, tell } = browser()
    const tabs = [open(), open(), open()]
    await settle()
    expect(leading()).toHaveLength(1)
    tell({ type: 'ready' })
    await settle()
    for (const tab of tabs) expect(tab.seen()).toEqual(['missed'])
    tell(deleted('t'))
    tell({ type: 'message', message: { id: 'm', thread_id: 't', status: 'running' } })
    tell({ type: 'notification', read: ['n'] })
    tell({ type: 'data_source', data_source: { id: 'd' } as never })
    tell({ type: 'data_source', id: 'e', deleted: true })
    await settle()
    for (const tab of tabs)
      expect(tab.seen()).toEqual(['thread t', 'message m', 'notice n', 'file d', 'file e'])
  })

  it('elect another leader when the leader closes, and reload missed data', async () => {
    const { open, leading, lines, tell } = browser()
    const [first, second, third] = [open(), open(), open()]
    await settle()
    tell({ type: 'ready' })
    await settle()
    first.stop()
    await settle()
    expect(lines[0]?.stopped).toBe(true)
    expect(leading()).toHaveLength(1)
    for (const tab of [second, third]) expect(tab.seen()).toEqual(['missed'])
    tell({ type: 'ready' })
    tell(deleted('t'))
    await settle()
    expect(second.seen()).toEqual(['thread t', 'missed'])
    expect(third.seen()).toEqual(['thread t', 'missed'])
    expect(first.seen()).toEqual(['missed'])
  })

  it('that join later ask for the state of the connection, and only they reload', async () => {
    const { open, tell, leading } = browser()
    const first = open()
    await settle()
    tell({ type: 'ready' })
    await settle()
    first.seen()
    const second = open()
    await settle()
    expect(leading()).toHaveLength(1)
    expect(leading()[0]?.wakes).toEqual(['visible'])
    expect(second.seen()).toEqual(['missed'])
    expect(first.seen()).toEqual([])
    second.look(true)
    await settle()
    expect(second.seen()).toEqual([])
  })

  it('replace a frozen leader as soon as one of them is visible', async () => {
    const { open, lines, leading, tell } = browser()
    const first = open()
    await settle()
    tell({ type: 'ready' })
    const second = open()
    second.look(false)
    await settle()
    first.freeze()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lines).toHaveLength(1)
    second.look(true)
    await vi.advanceTimersByTimeAsync(6000)
    expect(lines).toHaveLength(2)
    expect(lines[0]?.stopped).toBe(true)
    expect(leading()).toHaveLength(1)
    second.stop()
    await settle()
    expect(lines).toHaveLength(3)
  })

  it('that are hidden reload when shown, and receive events in the meantime', async () => {
    const { open, tell } = browser()
    open()
    const second = open()
    await settle()
    second.look(false)
    tell({ type: 'ready' })
    tell(deleted('t'))
    await settle()
    expect(second.seen()).toEqual(['thread t'])
    second.look(true)
    await settle()
    expect(second.seen()).toEqual(['missed'])
  })

  it('batch simultaneous events into one reload', async () => {
    const { open, tell } = browser()
    const tab = open()
    await settle()
    for (let i = 0; i < 3; i++) tell({ type: 'ready' })
    await settle()
    expect(tab.seen()).toEqual(['missed'])
  })

  it.each([{ locks: null }, { channel: null }])('without %o have one connection each', async (change) => {
    const { open, leading } = browser(change)
    const tabs = [open(), open()]
    await settle()
    expect(leading()).toHaveLength(2)
    for (const line of leading()) line.listener.onFrame({ type: 'ready' })
    leading()[1]?.listener.onFrame(deleted('t'))
    await settle()
    expect(tabs.map((tab) => tab.seen())).toEqual([['missed'], ['thread t', 'missed']])
    for (const tab of tabs) tab.stop()
    expect(leading()).toHaveLength(0)
  })

  it('of two users share nothing', async () => {
    const { open, leading } = browser()
    const tabs = [open('a'), open('b'), open('b')]
    await settle()
    expect(leading()).toHaveLength(2)
    leading()[0]?.listener.onFrame(deleted('t'))
    await settle()
    expect(tabs.map((tab) => tab.seen())).toEqual([['thread t'], [], []])
  })

  it('have one connection each if the browser refuses locks, and stop requesting them', async () => {
    const request = vi.fn(() => Promise.reject(new DOMException('not here', 'SecurityError')))
    const { open, leading } = browser({ locks: { request } })
    const tab = open()
    open()
    await settle()
    expect(leading()).toHaveLength(2)
    expect(request).toHaveBeenCalledTimes(2)
    tab.stop()
    expect(leading()).toHaveLength(1)
  })

  it('ignore messages of a newer version of the app', async () => {
    const { open, tell } = browser()
    const tabs = [open(), open()]
    await settle()
    expect(() => tell({ type: 'later', later: {} } as never)).not.toThrow()
    tell(deleted('t'))
    await settle()
    for (const tab of tabs) expect(tab.seen()).toEqual(['thread t'])
  })

  it('reload when shown without a connection', async () => {
    const { open } = browser()
    const tab = open()
    await settle()
    tab.fire('visible')
    await settle()
    expect(tab.seen()).toEqual(['missed'])
  })
})
