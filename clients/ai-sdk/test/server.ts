import type { UIMessageChunk } from 'ai'

/** A run of an answer: its deltas and its end. */
export interface Run {
  readonly deltas: readonly string[]
  /** The ids of the calls of tools. */
  readonly tools?: readonly string[]
  /** The ids of the calls that are sent while their input is written. */
  readonly written?: readonly string[]
  /** The calls are a step before that of the text. */
  readonly steps?: boolean
  readonly end?: 'finish' | 'abort' | 'error'
}

export interface Call {
  readonly url: string
  readonly method: string
  readonly body: Record<string, unknown> | null
  readonly headers: Headers
  readonly signal: AbortSignal | null
}

const utf8 = new TextEncoder()
export const size = (text: string) => utf8.encode(text).length
export const ids = { answer: 'answer-1', question: 'question-1', thread: 'thread-1' } as const

/** An event with `data:` before `id:`, as the server writes it, or after it, which the format allows too. */
function event(chunk: object | string, id?: string, idFirst = false): string {
  const data = `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n`
  if (id === undefined) return `${data}\n`
  return idFirst ? `id: ${id}\n${data}\n` : `${data}id: ${id}\n\n`
}

/** The events of a run after a cursor; see docs/streaming.md. */
export function script(
  number: number,
  run: Run,
  cursor: string | null,
  idFirst = false,
  /** The last run that this one continues, if any. */
  continued = number,
): string {
  const ends = [0]
  for (const delta of run.deltas) ends.push((ends.at(-1) ?? 0) + size(delta))
  const [asked, offset = 0] = (cursor ?? '0-0').split('-').map(Number)
  const holds = (asked === number || asked === continued) && offset > 0 && ends.includes(offset)
  const from = holds ? offset : 0
  const out = ['retry: 1\n\n']
  const metadata = { run: number, thread_id: ids.thread, user_message_id: ids.question }
  out.push(event({ type: 'start', messageId: ids.answer, messageMetadata: metadata }))
  if (!holds && cursor !== null)
    out.push(event({ type: 'data-reset', data: { run: number }, transient: true }, `${number}-0`, idFirst))
  out.push(
    event({
      type: 'data-step',
      id: 'retrieval',
      data: { kind: 'retrieval', status: 'success', detail: '1か所を確認', done: 1, total: 1 },
      transient: true,
    }),
  )
  if (run.steps) out.push(event({ type: 'start-step', step: 0 }))
  for (const toolCallId of run.written ?? [])
    out.push(
      event({
        type: 'tool-input-start',
        toolCallId,
        toolName: 'calculate',
        title: '計算',
        providerExecuted: true,
        dynamic: true,
        providerMetadata: { tsumugi: { offset: 0 } },
      }),
      event({ type: 'tool-input-delta', toolCallId, inputTextDelta: '{"expression":' }),
      event({ type: 'tool-input-delta', toolCallId, inputTextDelta: '"1+' }),
    )
  for (const toolCallId of run.tools ?? [])
    out.push(
      event({
        type: 'tool-input-available',
        toolCallId,
        toolName: 'calculate',
        title: '計算',
        input: { expression: '1+2' },
        providerExecuted: true,
        dynamic: true,
        providerMetadata: { tsumugi: { offset: 0 } },
      }),
      event({
        type: 'tool-output-available',
        toolCallId,
        output: '1+2 = 3',
        providerExecuted: true,
        dynamic: true,
      }),
    )
  if (run.steps) out.push(event({ type: 'finish-step', step: 0 }), event({ type: 'start-step', step: 1 }))
  out.push(
    event({
      type: 'source-document',
      sourceId: `source-${number}`,
      mediaType: 'text/plain',
      title: `資料${number}`,
      filename: `資料${number}`,
      index: 1,
      page: 3,
      providerMetadata: {
        tsumugi: { index: 1, page: 3, data_source_id: `file-${number}`, locator: '第1章' },
      },
    }),
    event({ type: 'reasoning-start', id: 'r' }),
    event({ type: 'reasoning-delta', id: 'r', delta: `考え${number}` }),
    event({ type: 'reasoning-delta', id: 'r', delta: 'ています' }),
    event({ type: 'reasoning-end', id: 'r' }),
    event({ type: 'text-start', id: '0' }),
  )
  run.deltas.forEach((delta, i) => {
    const end = ends[i + 1] ?? 0
    if (end > from) out.push(event({ type: 'text-delta', id: '0', delta }, `${number}-${end}`, idFirst))
  })
  const total = `${number}-${ends.at(-1)}`
  const citations = [
    {
      index: 1,
      chunk_embedding_id: `source-${number}`,
      data_source_id: `file-${number}`,
      filename: `資料${number}`,
      page: 3,
      locator: '第1章',
      score: 4.2,
      quote: '本文',
      support: 'strong',
    },
  ]
  out.push(
    event({ type: 'data-citations', data: { citations }, transient: true }),
    event({ type: 'text-end', id: '0' }),
    event({ type: 'data-title', data: { title: '題' }, transient: true }),
  )
  if (run.steps) out.push(event({ type: 'finish-step', step: 1 }))
  if (run.end === 'abort') out.push(event({ type: 'abort', reason: 'stopped' }, total, idFirst))
  else if (run.end === 'error')
    out.push(
      event(
        { type: 'error', errorText: '途中で途切れました。', code: 'model_interrupted', retryable: true },
        total,
      ),
    )
  else
    out.push(
      event(
        { type: 'finish', finishReason: 'stop', messageMetadata: { usage: { output_tokens: 3 } } },
        total,
        idFirst,
      ),
    )
  out.push(event('[DONE]'))
  return out.join('')
}

/** A `fetch` that records each call and calls `answer` with it. */
export function fakeFetch(answer: (call: Call, index: number) => Response | Promise<Response>) {
  const calls: Call[] = []
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : null
    const headers = new Headers(init.headers)
    const call = {
      url: String(input),
      method: init.method ?? 'GET',
      body,
      headers,
      signal: init.signal ?? null,
    }
    calls.push(call)
    return answer(call, calls.length - 1)
  }
  return { fetch, calls }
}

/** A response with the given body, sent in pieces, and the given end of its stream. */
export function streamed(
  bytes: Uint8Array,
  end: 'close' | 'break' | 'hang' = 'close',
  piece = 99,
  signal?: AbortSignal | null,
) {
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener('abort', () => controller.error(signal.reason))
    },
    pull(controller) {
      at += piece
      if (at - piece < bytes.length) controller.enqueue(bytes.slice(at - piece, at))
      else if (end === 'close') controller.close()
      else if (end === 'break') controller.error(new TypeError('network error'))
      else return new Promise(() => {})
      return undefined
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

export const bytesOf = (text: string) => utf8.encode(text)

export function problem(status: number, fields: object, headers: Record<string, string> = {}): Response {
  return Response.json(
    { status, ...fields },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  )
}

export async function collect(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  return chunks
}

/** The number of cuts that are tested at the same time. A client waits before it connects again, so the others run. */
const cutsAtOnce = 64

/** Tests a stream that is cut at each of these bytes, from the first to the one before the end. */
export async function atEachByte(
  from: number,
  end: number,
  test: (cut: number) => Promise<void>,
): Promise<void> {
  for (let first = from; first < end; first += cutsAtOnce) {
    const cuts = Array.from({ length: Math.min(cutsAtOnce, end - first) }, (_, i) => first + i)
    await Promise.all(cuts.map(test))
  }
}
