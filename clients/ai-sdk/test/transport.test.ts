import { readFileSync } from 'node:fs'
import { asSchema, uiMessageChunkSchema } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { TsumugiChatTransport, TsumugiError } from '../src/index.js'
import { Chat, textOf } from './chat.js'
import {
  atEachByte,
  bytesOf,
  type Call,
  fakeFetch,
  ids,
  problem,
  type Run,
  script,
  streamed,
} from './server.js'
import { afterRetryField, cursorOf, first, knowsReset, setUp, textOfRun, whole } from './setup.js'

describe('sendMessage', () => {
  it('sends the question to the thread and shows the answer as the message', async () => {
    const { chat, calls } = setUp((call) => whole(call))
    await chat.sendMessage({ text: '質問です。' })
    expect(chat.status).toBe('ready')
    expect(chat.lastMessage).toMatchObject({ id: ids.answer, role: 'assistant' })
    expect(chat.lastMessage?.metadata).toMatchObject({
      run: 1,
      user_message_id: ids.question,
      usage: { output_tokens: 3 },
    })
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    // The SDK keeps only these fields of a source.
    expect(chat.lastMessage?.parts[0]).toMatchObject({
      type: 'source-document',
      providerMetadata: { tsumugi: { index: 1, page: 3, data_source_id: 'file-1', locator: '第1章' } },
    })
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      url: 'https://t.example/v1/message/stream',
      method: 'POST',
      body: {
        thread_id: ids.thread,
        content: '質問です。',
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    })
    expect(calls[0]?.headers.get('authorization')).toBe('Bearer token')
  })

  it('adds the body and the headers of the caller', async () => {
    const { chat, calls } = setUp((call) => whole(call))
    await chat.sendMessage(
      { text: 'これについて' },
      { body: { data_source_ids: ['d'] }, headers: { 'x-request-id': 'mine' } },
    )
    expect(calls[0]?.body).toMatchObject({ content: 'これについて', data_source_ids: ['d'] })
    expect(calls[0]?.headers.get('x-request-id')).toBe('mine')
  })
})

it('reads the stream of the Go server, whose chunks are valid for the SDK', async () => {
  const bytes = readFileSync(new URL('../../../stream/testdata/finish.sse', import.meta.url))
  const { chat } = setUp(() => streamed(bytes))
  await chat.sendMessage({ text: '質問' })
  expect(chat.status).toBe('ready')
  expect(chat.lastMessage?.parts.map(({ type }) => type)).toEqual(['source-document', 'text'])
  const schema = asSchema(uiMessageChunkSchema)
  const types: string[] = []
  for (const line of bytes.toString().split('\n')) {
    if (!line.startsWith('data: {')) continue
    const chunk: { type: string } = JSON.parse(line.slice('data: '.length))
    types.push(chunk.type)
    expect(await schema.validate?.(chunk), line).toMatchObject({ success: true })
  }
  expect(types).toContain('data-step')
  expect(types).toContain('data-citations')
})

describe('resuming after a disconnection', () => {
  for (const idFirst of [false, true])
    it(`works at every byte, ${idFirst ? 'id before data' : 'data before id'}`, async () => {
      const length = bytesOf(script(1, first, null, idFirst)).length
      await atEachByte(afterRetryField, length, async (cut) => {
        const { chat, calls } = setUp((call, index) => {
          const bytes = bytesOf(script(1, first, cursorOf(call), idFirst))
          return index === 0 ? streamed(bytes.slice(0, cut), cut % 2 ? 'close' : 'break') : streamed(bytes)
        })
        await chat.sendMessage({ text: '質問' })
        expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(first))
        expect(chat.status, `cut at ${cut}`).toBe('ready')
        const parts = ['source-document', 'reasoning', 'text']
        expect(
          chat.lastMessage?.parts.map(({ type }) => type),
          `cut at ${cut}`,
        ).toEqual(parts)
        expect(chat.lastMessage?.parts[1], `cut at ${cut}`).toMatchObject({ text: '考え1ています' })
        expect(calls.length).toBeLessThanOrEqual(2)
        expect(new Set(calls.map((call) => JSON.stringify(call.body))).size).toBe(1)
      })
    })

  it('works after repeated disconnections', async () => {
    for (const step of [150, 311, 640]) {
      let cut = 0
      const { chat } = setUp((call) => {
        cut += step
        return streamed(bytesOf(script(1, first, cursorOf(call))).slice(0, cut), 'break')
      })
      await chat.sendMessage({ text: '質問' })
      expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    }
  })
})

describe('an inconsistent stream', () => {
  it('is requested again from the beginning', async () => {
    const torn = script(1, first, null).replace('"delta":"んに"', '"delta":"んにん"')
    const { chat, calls } = setUp((call, index) =>
      index === 0 ? streamed(bytesOf(torn), 'hang') : whole(call),
    )
    await chat.sendMessage({ text: '質問' })
    expect(cursorOf(calls[1] as Call)).toBe('0-0')
    if (!knowsReset) await chat.resumeStream()
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
  })

  it('fails after repeated attempts', async () => {
    const { chat } = setUp(() => streamed(bytesOf('retry: 1\n\ndata: [DONE]\n\n')))
    await chat.sendMessage({ text: '質問' })
    expect(chat.error).toMatchObject({ name: 'TsumugiError', code: 'stream_inconsistent' })
  })
})

describe('a refused request', () => {
  it('is an error with the code and the detail of the problem', async () => {
    const fields = { code: 'thread_busy', detail: 'このスレッドでは回答を作成中です。', message_id: 'm' }
    const { chat, calls } = setUp(() => problem(409, fields))
    await chat.sendMessage({ text: '質問' })
    expect(chat.error).toBeInstanceOf(TsumugiError)
    expect(chat.error).toMatchObject({ message: fields.detail, code: 'thread_busy', retryable: false })
    expect((chat.error as TsumugiError).refusal).toMatchObject({ status: 409, problem: { message_id: 'm' } })
    expect(calls).toHaveLength(1)
  })

  it('is retried while the refusal is temporary', async () => {
    const busy = { code: 'unavailable', detail: '混み合っています。' }
    const { chat, calls } = setUp((call, index) => {
      if (index === 0) return streamed(bytesOf('retry: 1\n\n'))
      return index < 3 ? problem(503, busy, { 'retry-after': '0' }) : whole(call)
    })
    await chat.sendMessage({ text: '質問' })
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    expect(calls).toHaveLength(4)
  })

  it('waits for Retry-After even if the network returns meanwhile', async () => {
    vi.stubGlobal('addEventListener', (_: string, handle: () => void) => handle())
    const times: number[] = []
    const { chat } = setUp((call, index) => {
      times.push(performance.now())
      if (index === 0) return streamed(bytesOf('retry: 1\n\n'))
      return index < 2
        ? problem(503, { code: 'unavailable', detail: '混み合っています。' }, { 'retry-after': '1' })
        : whole(call)
    })
    await chat.sendMessage({ text: '質問' })
    vi.unstubAllGlobals()
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    const [, refused = 0, retried = 0] = times
    expect(retried - refused).toBeGreaterThan(990)
  })

  it('is an error if Retry-After is longer than the time limit', async () => {
    const { chat } = setUp(() =>
      problem(429, { code: 'rate_limited', detail: '少し待ってください。' }, { 'retry-after': '60' }),
    )
    await chat.sendMessage({ text: '質問' })
    expect(chat.error).toMatchObject({
      code: 'rate_limited',
      message: '少し待ってください。',
      retryable: true,
    })
  })

  it('gets a new token once if the token has expired', async () => {
    const expired = { code: 'unauthenticated', detail: 'jwt expired' }
    for (const renews of [true, false]) {
      const asked: boolean[] = []
      const { fetch, calls } = fakeFetch((call) =>
        call.headers.get('authorization') === 'Bearer new' ? whole(call) : problem(401, expired),
      )
      const token = (isExpired: boolean) => {
        asked.push(isExpired)
        return isExpired && renews ? 'new' : 'old'
      }
      const chat = new Chat({ id: ids.thread, transport: new TsumugiChatTransport({ token, fetch }) })
      await chat.sendMessage({ text: '質問' })
      expect(asked).toEqual([false, true])
      expect(calls).toHaveLength(2)
      if (renews) expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
      else expect(chat.error).toMatchObject({ code: 'unauthenticated' })
    }
  })

  it('is repeated with the same request id', async () => {
    const { chat, calls } = setUp((call, index) =>
      index === 0 ? problem(400, { code: 'x', detail: 'x' }) : whole(call),
    )
    await chat.sendMessage({ text: '質問' })
    await chat.regenerate()
    expect(calls[1]?.body).toEqual(calls[0]?.body)
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
  })
})

describe('a failed answer', () => {
  it('is an error with its code, and keeps its text', async () => {
    const { chat } = setUp((call) => whole(call, { ...first, end: 'error' }))
    await chat.sendMessage({ text: '質問' })
    expect(chat.error).toMatchObject({
      code: 'model_interrupted',
      message: '途中で途切れました。',
      retryable: true,
    })
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
  })
})

describe('stopping', () => {
  const stopped: Run = { deltas: ['途中まで'], end: 'abort' }
  const beginning = (call: Call) => {
    const text = script(1, stopped, cursorOf(call))
    return text.slice(0, text.indexOf('data: {"type":"text-end"'))
  }

  it('through the transport ends the stream with the stored text', async () => {
    let release = () => {}
    const { chat, transport, calls } = setUp((call) => {
      if (call.url.endsWith('/stop')) {
        release()
        return new Response(null, { status: 204 })
      }
      const text = script(1, stopped, cursorOf(call))
      const cut = bytesOf(beginning(call)).length
      return gated(
        bytesOf(text),
        cut,
        new Promise((resolve) => {
          release = resolve
        }),
      )
    })
    const sent = chat.sendMessage({ text: '質問' })
    await until(() => textOf(chat.lastMessage) === '途中まで')
    await transport.stop(ids.thread)
    await sent
    expect(calls.at(-1)).toMatchObject({
      url: `https://t.example/v1/message/${ids.answer}/stop`,
      method: 'POST',
    })
    expect(chat.status).toBe('ready')
    expect(textOf(chat.lastMessage)).toBe('途中まで')
  })

  it('through the chat stops the answer on the server', async () => {
    const { chat, calls } = setUp((call) =>
      call.url.endsWith('/stop')
        ? new Response(null, { status: 204 })
        : streamed(bytesOf(beginning(call)), 'hang', 99, call.signal),
    )
    const sent = chat.sendMessage({ text: '質問' })
    await until(() => textOf(chat.lastMessage) === '途中まで')
    await chat.stop()
    await sent
    await until(() => calls.some(({ url }) => url.endsWith(`/v1/message/${ids.answer}/stop`)))
    await until(() => calls[0]?.signal?.aborted === true)
  })

  it('before the answer begins stops it once it begins', async () => {
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const { chat, calls } = setUp(async (call) => {
      if (call.url.endsWith('/stop')) return new Response(null, { status: 204 })
      await begun
      return streamed(bytesOf(beginning(call)), 'hang', 99, call.signal)
    })
    const sent = chat.sendMessage({ text: '質問' })
    await until(() => calls.length === 1)
    await chat.stop()
    await sent
    expect(chat.status).toBe('ready')
    begin()
    await until(() => calls.some(({ url }) => url.endsWith('/stop')))
    await until(() => calls[0]?.signal?.aborted === true)
  })
})

describe('resumeStream', () => {
  it('attaches to the running answer of the thread and replaces the text of the message', async () => {
    const { fetch, calls } = fakeFetch((call, index) =>
      index === 0 ? streamed(bytesOf(script(1, first, null)).slice(0, 900), 'break') : whole(call),
    )
    const transport = new TsumugiChatTransport({ token: () => 't', fetch })
    const partial = {
      id: ids.answer,
      role: 'assistant' as const,
      parts: [{ type: 'text' as const, text: 'こん' }],
    }
    const chat = new Chat({ id: ids.thread, transport, messages: [partial] })
    await chat.resumeStream()
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    expect(chat.messages).toHaveLength(1)
    expect(calls.map(({ url }) => url)).toEqual([
      `/v1/thread/${ids.thread}/stream`,
      `/v1/message/${ids.answer}/stream`, // Not the thread's: another answer may run there by then.
    ])
  })

  it('does nothing if no answer is running', async () => {
    const { chat } = setUp(() => new Response(null, { status: 204 }))
    await chat.resumeStream()
    expect(chat.status).toBe('ready')
    expect(chat.messages).toEqual([])
  })

  it('does not stop the answer if called twice', async () => {
    const { chat, calls } = setUp((call, index) =>
      index === 0
        ? streamed(bytesOf(script(1, first, null)).slice(0, 700), 'hang', 99, call.signal)
        : whole(call),
    )
    const one = chat.resumeStream()
    await until(() => chat.messages.length === 1)
    const two = chat.resumeStream()
    await Promise.all([one, two])
    expect(textOf(chat.lastMessage)).toBe(textOfRun(first))
    expect(calls.filter(({ url }) => url.endsWith('/stop'))).toEqual([])
  })
})

describe('regenerate', () => {
  it('sends the id of the last answer', async () => {
    const { chat, calls } = setUp((call) => whole(call))
    await chat.sendMessage({ text: '質問' })
    await chat.regenerate()
    expect(calls[1]?.body).toEqual({
      request_id: expect.any(String),
      thread_id: ids.thread,
      regenerate: ids.answer,
    })
    expect(calls[1]?.body?.request_id).not.toBe(calls[0]?.body?.request_id)
  })

  it('looks up the newest message of a thread that was loaded from the server', async () => {
    const { fetch, calls } = fakeFetch((call) =>
      call.url.startsWith('/v1/message?') ? Response.json({ items: [{ id: 'old-answer' }] }) : whole(call),
    )
    const transport = new TsumugiChatTransport({ token: () => 't', fetch })
    const text = (id: string, role: 'user' | 'assistant') => ({
      id,
      role,
      parts: [{ type: 'text' as const, text: id }],
    })
    const chat = new Chat({
      id: ids.thread,
      transport,
      messages: [text('q', 'user'), text('old-answer', 'assistant')],
    })
    await chat.regenerate()
    expect(calls[0]?.url).toBe(`/v1/message?limit=1&thread_id=${ids.thread}`)
    expect(calls[1]?.body).toMatchObject({ regenerate: 'old-answer' })
  })

  it('looks up the answer to an earlier question of a thread that was loaded from the server', async () => {
    const question = '0198c0de-0000-7000-8000-000000000003'
    const { fetch, calls } = fakeFetch((call) => {
      if (!call.url.startsWith('/v1/message?')) return whole(call)
      const far = call.url.includes('offset=0')
      const items = Array.from({ length: far ? 100 : 2 }, (_, i) => ({ id: `m${i}`, parent_id: `m${i + 1}` }))
      return Response.json({
        items: far ? items : [{ id: 'its-answer', parent_id: question }, { id: question }],
      })
    })
    const transport = new TsumugiChatTransport({ token: () => 't', fetch })
    const messages = [
      { id: question, role: 'user' as const, parts: [{ type: 'text' as const, text: '質問' }] },
      { id: 'a', role: 'assistant' as const, parts: [] },
      { id: 'later', role: 'user' as const, parts: [{ type: 'text' as const, text: '続き' }] },
    ]
    const chat = new Chat({ id: ids.thread, transport, messages })
    await chat.regenerate({ messageId: question })
    expect(calls.map(({ url }) => url).slice(0, 2)).toEqual(
      [0, 100].map(
        (offset) => `/v1/message?limit=100&thread_id=${ids.thread}&offset=${offset}&leaf=${question}`,
      ),
    )
    expect(calls[2]?.body).toMatchObject({ regenerate: 'its-answer' })
  })

  it('sends the id of an earlier answer', async () => {
    const { chat, calls } = setUp((call) => whole(call))
    await chat.sendMessage({ text: '質問' })
    await chat.sendMessage({ text: '続き' })
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? '' })
    expect(calls[2]?.body).toMatchObject({ regenerate: ids.answer })
    expect(chat.messages).toHaveLength(2)
  })

  it('repeats the edit of a question after a refusal', async () => {
    const { chat, calls } = setUp((call, index) =>
      index === 1 ? problem(409, { code: 'thread_busy', detail: '作成中です。' }) : whole(call),
    )
    await chat.sendMessage({ text: '質問' })
    const messageId = chat.messages[0]?.id ?? ''
    await chat.sendMessage({ text: '別の質問', messageId })
    expect(chat.status).toBe('error')
    await chat.regenerate()
    expect(calls[2]?.body).toEqual(calls[1]?.body)
    await chat.sendMessage({ text: 'また別の質問', messageId })
    expect(calls[3]?.body).toMatchObject({ edit: ids.question, content: 'また別の質問' })
  })

  it('sends the id of an edited question', async () => {
    const { chat, calls } = setUp((call) => whole(call))
    await chat.sendMessage({ text: '質問' })
    await chat.sendMessage({ text: '別の質問', messageId: chat.messages[0]?.id ?? '' })
    expect(calls[1]?.body).toMatchObject({ edit: ids.question, content: '別の質問' })
  })
})

/** gated returns a stream that waits for `gate` at the offset `cut`. */
function gated(bytes: Uint8Array, cut: number, gate: Promise<void>): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(bytes.slice(0, cut))
      await gate
      controller.enqueue(bytes.slice(cut))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** until waits until a condition is true. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
