import { describe, expect, it, vi } from 'vitest'
import { type Answer, emptyAnswer } from './answer'
import { Connection, type ConnectionPolicy, type Ending, type StreamRequest } from './connection'
import { StreamFailure } from './failure'
import {
  type Call,
  encode,
  event,
  fakeDeps,
  fakeFetch,
  impatient,
  problemResponse,
  randomChunks,
  randomDeltas,
  randomText,
  script,
  seeded,
  streamOf,
  streamResponse,
} from './testing'

const send: StreamRequest = { kind: 'send', url: '/v1/message/stream', body: '{"request_id":"r"}' }
const handOver: StreamRequest = { ...send, kind: 'handOver', url: '/v1/message/async' }
const attach: StreamRequest = { kind: 'attach', url: '/v1/message/answer/stream' }

type Reply = (call: Call, index: number) => Response | Promise<Response>

function open(reply: Reply, request = send, policy: Partial<ConnectionPolicy> = {}, from?: Answer) {
  const { fetch, calls } = fakeFetch(reply)
  const deps = fakeDeps(fetch)
  const states: string[] = []
  let resolve: (ending: Ending) => void
  const ended = new Promise<Ending>((done) => {
    resolve = done
  })
  const listener = {
    onAnswer: () => {},
    onState: (state: string) => void states.push(state),
    onEnd: (ending: Ending) => resolve(ending),
  }
  const connection = new Connection(request, deps, listener, from ?? emptyAnswer, { ...impatient, ...policy })
  const finished = connection.run()
  return { connection, calls, deps, states, ended, finished }
}

const whole = (text: string) => streamResponse(encode(script(1, [text], null)))

describe('R02 R05 R07: reading through the real parser', { timeout: 60_000 }, () => {
  it('returns the text for any chunking and any cut of the wire', async () => {
    for (let seed = 1; seed <= 120; seed++) {
      const random = seeded(seed)
      const text = randomText(random, 60)
      const deltas = randomDeltas(random, text, 5)
      const { connection, calls, ended } = open((call, index) => {
        const bytes = encode(script(1, deltas, call.cursor))
        const cut = index < 5 ? bytes.slice(0, Math.floor(random() * bytes.length)) : bytes
        return streamResponse(streamOf(randomChunks(random, cut, 40), random() < 0.5 ? 'close' : 'break'))
      })
      expect(await ended, `seed ${seed}`).toEqual({ kind: 'done' })
      expect(connection.answer.text, `seed ${seed}`).toBe(text)
      expect(new Set(calls.map((call) => call.body))).toEqual(
        new Set([send.kind === 'send' ? send.body : '']),
      )
    }
  })

  it('survives a cut at every single byte of a short answer', async () => {
    const deltas = ['こ', 'んに', 'ちは🧵']
    const length = encode(script(1, deltas, null)).length
    for (let cut = 0; cut <= length; cut++) {
      const { connection, calls, ended } = open((call, index) => {
        const bytes = encode(script(1, deltas, call.cursor))
        return streamResponse(streamOf([index === 0 ? bytes.slice(0, cut) : bytes], 'break'))
      })
      expect(await ended).toEqual({ kind: 'done' })
      expect(connection.answer.text).toBe('こんにちは🧵')
      expect(calls.length).toBeLessThanOrEqual(2)
    }
  })

  it('commits a cursor only with its data', async () => {
    // The connection breaks after the id line of the second delta: its text has not arrived.
    const head = encode([event.start(1), event.delta(1, 3, 'あ')])
    const torn = new TextEncoder().encode('id: 1-6\n')
    const { connection, calls, ended } = open((call, index) =>
      index === 0
        ? streamResponse(streamOf([head, torn], 'break'))
        : streamResponse(encode(script(1, ['あ', 'い'], call.cursor))),
    )
    await ended
    expect(calls[1]?.cursor).toBe('1-3')
    expect(connection.answer.text).toBe('あい')
  })

  it('follows the next run of a generation that another server continues', async () => {
    const { connection, ended } = open((call, index) =>
      index === 0
        ? streamResponse(streamOf([encode([event.start(1), event.delta(1, 6, '古い')])], 'break'))
        : streamResponse(encode(script(2, ['新しい', '答え'], call.cursor))),
    )
    expect(await ended).toEqual({ kind: 'done' })
    expect(connection.answer).toMatchObject({ run: 2, text: '新しい答え' })
  })

  it('gives up on a server that keeps sending inconsistent events', async () => {
    const { calls, ended } = open(() => streamResponse(encode([event.start(1), event.delta(1, 9, 'あ')])))
    const ending = await ended
    expect(ending).toMatchObject({ kind: 'failed', failure: { kind: 'protocol' } })
    expect(calls).toHaveLength(4)
  })
})

describe('the server’s response', () => {
  it('ends when nothing is left', async () => {
    const { ended } = open(() => new Response(null, { status: 204 }), attach)
    expect(await ended).toEqual({ kind: 'gone' })
  })

  it('reports a refusal without a retry', async () => {
    const { calls, ended } = open(() =>
      problemResponse(409, {
        status: 409,
        code: 'thread_busy',
        detail: '回答を書いている途中です。',
        request_id: 'q1',
        errors: [{ field: 'thread_id', message: '使用中です。' }, 'odd'],
      }),
    )
    const ending = await ended
    expect(ending.kind).toBe('failed')
    if (ending.kind !== 'failed') return
    expect(ending.failure).toBeInstanceOf(StreamFailure)
    expect(ending.failure).toMatchObject({
      kind: 'problem',
      code: 'thread_busy',
      status: 409,
      message: '回答を書いている途中です。',
      detail: { requestId: 'q1', errors: [{ field: 'thread_id', message: '使用中です。' }] },
    })
    expect(calls).toHaveLength(1)
  })

  it('delivers a question without its answer, however many attempts it needs', async () => {
    const exchange = { question: { id: 'question' }, answer: { id: 'answer', thread_id: 'thread' } }
    const { connection, calls, ended } = open((_, index) => {
      if (index === 0) throw new TypeError('network error')
      return index === 1
        ? Response.json({ answer: {} }, { status: 202 })
        : Response.json(exchange, { status: 202 })
    }, handOver)
    expect(await ended).toEqual({ kind: 'taken' })
    expect(connection.answer).toMatchObject({
      messageId: 'answer',
      userMessageId: 'question',
      threadId: 'thread',
    })
    expect(calls.map(({ url, body }) => [url, body])).toEqual(
      Array.from({ length: 3 }, () => ['/v1/message/async', '{"request_id":"r"}']),
    )
  })

  it('ends if the question waits in a shared thread', async () => {
    const waiting = { message_id: 'question', thread_id: 'thread', status: 'pending', position: 1 }
    for (const request of [undefined, handOver]) {
      const { calls, ended } = open(() => Response.json(waiting, { status: 202 }), request)
      expect(await ended).toMatchObject({ kind: 'failed', failure: { code: 'waiting', status: 202 } })
      expect(calls).toHaveLength(1)
    }
  })

  it('does not retry after an internal error, except for an answer that has begun', async () => {
    const refused = open(() => problemResponse(500, { code: 'internal' }))
    expect(await refused.ended).toMatchObject({ kind: 'failed', failure: { code: 'internal' } })
    expect(refused.calls).toHaveLength(1)

    const begun = open(
      (_, index) => (index < 3 ? new Response('<html>', { status: 500 }) : whole('続き')),
      attach,
    )
    expect(await begun.ended).toEqual({ kind: 'done' })
    const never = open(() => new Response('', { status: 500 }), attach)
    expect(await never.ended).toMatchObject({ kind: 'failed', failure: { code: 'http_500' } })
    expect(never.calls).toHaveLength(7)
  })

  it('waits for the time in Retry-After, and ignores wake-ups', async () => {
    vi.useFakeTimers()
    const { calls, deps, ended, states } = open((_, index) =>
      index === 0 ? problemResponse(429, { code: 'rate_limited' }, { 'retry-after': '7' }) : whole('済'),
    )
    await vi.advanceTimersByTimeAsync(6_900)
    deps.fire('online')
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toHaveLength(1)
    expect(states.at(-1)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(200)
    expect(await ended).toEqual({ kind: 'done' })
    expect(calls).toHaveLength(2)
  })

  it('returns the question if the wait would be too long', async () => {
    const { ended } = open(() => problemResponse(503, { code: 'overloaded' }, { 'retry-after': '120' }))
    expect(await ended).toMatchObject({
      kind: 'failed',
      failure: { code: 'overloaded', detail: { retryAfterMs: 120_000 } },
    })
  })

  it('treats an intermediary’s page as a lost connection', async () => {
    const { ended, calls } = open((_, index) =>
      index === 0
        ? new Response('<html>sign in to the hotel</html>', { headers: { 'content-type': 'text/html' } })
        : whole('届いた'),
    )
    expect(await ended).toEqual({ kind: 'done' })
    expect(calls).toHaveLength(2)
  })
})

describe('a broken connection', () => {
  it('uses the server’s retry, then doubles it', async () => {
    vi.useFakeTimers()
    const retry = new TextEncoder().encode('retry: 2400\n\n')
    const { calls, connection } = open(
      (_, index) => {
        if (index === 0) return streamResponse(streamOf([retry, encode([event.start(1)])], 'close'))
        throw new TypeError('refused')
      },
      send,
      { backoff: { firstMs: 1000, maxMs: 10_000 } },
    )
    await vi.advanceTimersByTimeAsync(2_399)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(3_600)
    expect(calls).toHaveLength(3)
    connection.close()
    await vi.advanceTimersByTimeAsync(0)
  })

  it.each(['online', 'visible', 'restored'] as const)('reconnects at once when woken: %s', async (reason) => {
    vi.useFakeTimers()
    const { calls, deps, ended, states } = open(
      (_, index) => {
        if (index === 0) throw new TypeError('offline')
        return whole('戻った')
      },
      send,
      { backoff: { firstMs: 9_000, maxMs: 10_000 } },
    )
    await vi.advanceTimersByTimeAsync(1)
    expect(states.at(-1)).toBe('waiting')
    deps.fire(reason)
    expect(await ended).toEqual({ kind: 'done' })
    expect(calls).toHaveLength(2)
  })

  it('is replaced after 40 s without data; heartbeats count as data', async () => {
    vi.useFakeTimers()
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (c) => {
        controller = c
      },
    })
    const { calls, ended } = open((call, index) =>
      index === 0 ? streamResponse(body) : streamResponse(encode(script(1, ['あ', 'い'], call.cursor))),
    )
    controller?.enqueue(encode([event.start(1), event.delta(1, 3, 'あ')]))
    for (let i = 0; i < 6; i++) {
      await vi.advanceTimersByTimeAsync(15_000)
      controller?.enqueue(new TextEncoder().encode(': hb\n'))
    }
    await vi.advanceTimersByTimeAsync(39_000)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_100)
    expect(calls).toHaveLength(2)
    expect(calls[0]?.signal.aborted).toBe(true)
    expect(calls[1]?.cursor).toBe('1-3')
    expect(await ended).toEqual({ kind: 'done' })
  })

  it('is replaced when the tab returns only if it was silent', async () => {
    vi.useFakeTimers()
    const { calls, deps, connection } = open(() =>
      streamResponse(streamOf([encode([event.start(1)])], 'hang')),
    )
    await vi.advanceTimersByTimeAsync(5_000)
    deps.fire('visible')
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(15_000)
    deps.fire('visible')
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toHaveLength(2)
    deps.fire('online')
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toHaveLength(3)
    connection.close()
    await vi.advanceTimersByTimeAsync(0)
    expect(calls[2]?.signal.aborted).toBe(true)
  })

  it('returns a question that cannot be delivered, and keeps retrying a delivered one', async () => {
    vi.useFakeTimers()
    const backoff = { firstMs: 1000, maxMs: 10_000 }
    const lost = open(
      () => {
        throw new TypeError('offline')
      },
      send,
      { backoff },
    )
    await vi.advanceTimersByTimeAsync(40_000)
    expect(await lost.ended).toMatchObject({ kind: 'failed', failure: { kind: 'network' } })

    const taken = open(
      (call, index) => {
        if (index === 0) return streamResponse(streamOf([encode([event.start(1)])], 'break'))
        if (index < 30) throw new TypeError('offline')
        return streamResponse(encode(script(1, ['届く'], call.cursor)))
      },
      send,
      { backoff },
    )
    await vi.advanceTimersByTimeAsync(400_000)
    expect(await taken.ended).toEqual({ kind: 'done' })
    expect(taken.connection.answer.text).toBe('届く')
  })

  it('closes silently', async () => {
    const { connection, ended, finished, calls } = open(() =>
      streamResponse(streamOf([encode([event.start(1)])], 'hang')),
    )
    connection.close()
    expect(await ended).toEqual({ kind: 'closed' })
    await finished
    expect(calls[0]?.signal.aborted).toBe(true)
  })
})
