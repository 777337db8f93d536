import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { LiveFrame } from './frames'
import { LiveSocket } from './socket'
import { FakeSocket, fakeWake } from './testing'

const hour = 3_600_000

function setup(token: (refused: string | null) => Promise<string | null> = async () => 'first') {
  const sockets: FakeSocket[] = []
  const frames: LiveFrame[] = []
  const states: boolean[] = []
  const { wake, fire } = fakeWake()
  const tokens = vi.fn(token)
  const ends = new Map<string, number>()
  const line = new LiveSocket(
    {
      open: () => {
        const socket = new FakeSocket()
        sockets.push(socket)
        return socket
      },
      token: tokens,
      expiry: (name) => ends.get(name) ?? Date.now() + hour,
      wake,
      now: () => Date.now(),
      random: () => 0.5,
    },
    { onFrame: (frame) => frames.push(frame), onState: (ready) => states.push(ready) },
  )
  const last = () => sockets.at(-1) as FakeSocket
  const ready = async () => {
    await vi.advanceTimersByTimeAsync(0)
    last().opens()
    last().says({ type: 'ready' })
  }
  return { line, sockets, frames, states, fire, tokens, ends, last, ready }
}

beforeEach(() => {
  vi.useFakeTimers()
})

describe('the live connection', () => {
  it('authenticates, reports that it is ready, and forwards events', async () => {
    const { frames, states, last, ready, line } = setup()
    await ready()
    expect(last().sent).toEqual([{ type: 'auth', token: 'first' }])
    last().says({ type: 'thread', id: 't', deleted: true })
    last().says({ type: 'tomorrow' })
    expect(frames).toEqual([{ type: 'ready' }, { type: 'thread', id: 't', deleted: true }])
    expect(states).toEqual([true])
    line.stop()
    expect(last().closed).toBe(true)
    expect(states).toEqual([true, false])
  })

  it.each([1012, 1013, 1006])('reconnects 1 to 5 seconds after %i, later each time', async (code) => {
    const { sockets, states, last, ready } = setup()
    await ready()
    last().ends(code)
    await vi.advanceTimersByTimeAsync(2999)
    expect(sockets).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sockets).toHaveLength(2)
    last().ends(1006)
    await vi.advanceTimersByTimeAsync(4999)
    expect(sockets).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(sockets).toHaveLength(3)
    await ready()
    expect(states).toEqual([true, false, true])
    last().ends(1012)
    await vi.advanceTimersByTimeAsync(3000)
    expect(sockets).toHaveLength(4)
  })

  it('gets a new token at once after a refusal, and waits after a second one', async () => {
    const { sockets, tokens, last, ready } = setup(async (refused) => (refused === null ? 'old' : 'new'))
    await ready()
    last().ends(4401)
    await ready()
    expect(tokens).toHaveBeenLastCalledWith('old')
    expect(last().sent).toEqual([{ type: 'auth', token: 'new' }])
    expect(sockets).toHaveLength(2)
    last().ends(4401)
    await vi.advanceTimersByTimeAsync(0)
    expect(sockets).toHaveLength(3)
    last().opens()
    last().ends(4401)
    await vi.advanceTimersByTimeAsync(2999)
    expect(sockets).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(1)
    expect(sockets).toHaveLength(4)
  })

  it('retries if no token is available, and stops if no user is signed in', async () => {
    let answer = async (): Promise<string | null> => {
      throw new Error('offline')
    }
    const { sockets, tokens } = setup(() => answer())
    await vi.advanceTimersByTimeAsync(2999)
    expect(tokens).toHaveBeenCalledTimes(1)
    answer = async () => null
    await vi.advanceTimersByTimeAsync(1)
    expect(tokens).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(hour)
    expect(tokens).toHaveBeenCalledTimes(2)
    expect(sockets).toHaveLength(0)
  })

  it('sends the next token a minute before the current one expires', async () => {
    let count = 0
    const { last, ready, ends, sockets } = setup(async () => `token ${++count}`)
    ends.set('token 1', Date.now() + 300_000)
    await ready()
    await vi.advanceTimersByTimeAsync(239_999)
    expect(last().sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(last().sent).toEqual([
      { type: 'auth', token: 'token 1' },
      { type: 'auth', token: 'token 2' },
    ])
    expect(sockets).toHaveLength(1)
  })

  it('reconnects at once on a wake-up, and replaces a connection that may be dead', async () => {
    const { sockets, last, ready, fire } = setup()
    await ready()
    last().ends(1006)
    fire('visible')
    await ready()
    expect(sockets).toHaveLength(2)
    fire('visible')
    await vi.advanceTimersByTimeAsync(0)
    expect(sockets).toHaveLength(2)
    fire('online')
    await ready()
    expect(sockets).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(6 * 60_000)
    fire('visible')
    await ready()
    expect(sockets).toHaveLength(4)
    expect(sockets.map((socket) => socket.closed)).toEqual([true, true, true, false])
  })

  it('detects that the machine has slept', async () => {
    const { sockets, ready } = setup()
    await ready()
    vi.setSystemTime(Date.now() + hour)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(sockets).toHaveLength(2)
  })

  it('gives up on a server that accepts the connection but sends nothing', async () => {
    const { sockets, last } = setup()
    await vi.advanceTimersByTimeAsync(0)
    last().opens()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(last().closed).toBe(true)
    await vi.advanceTimersByTimeAsync(3000)
    expect(sockets).toHaveLength(2)
  })
})
