import { type ConnectionDeps, type ConnectionPolicy, defaultPolicy } from './connection'
import { formatCursor, parseCursor, utf8Length } from './cursor'
import type { WakeReason } from './wake'

/** A small seeded generator, so that a failing case can be repeated (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** Characters of all widths, and characters that are difficult for event streams and parsers. */
const alphabet = [
  ...'abc 019:.-',
  ...'あ漢字「」。、ﾊﾝｶｸ',
  '🧵',
  '👨‍👩‍👧',
  '𠮷',
  'é',
  '\n',
  '\r',
  '\r\n',
  '\0',
  '\uFEFF',
  'data: x\n\n',
  'id: 9-9\n',
  '[DONE]',
  '\u2028',
]

export function randomText(random: () => number, length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) text += alphabet[Math.floor(random() * alphabet.length)] ?? ''
  return text
}

/** Cuts a text into deltas of 1 to `most` characters. */
export function randomDeltas(random: () => number, text: string, most: number): string[] {
  return slices(random, [...text], most).map((slice) => slice.join(''))
}

export interface Event {
  readonly id?: string
  readonly data: string
}

/** part returns an event with a part of the stream. */
function part(type: string, fields: object = {}, id?: string): Event {
  return { ...(id !== undefined && { id }), data: JSON.stringify({ type, ...fields }) }
}

const tsumugi = (fields: object) => ({ providerMetadata: { tsumugi: fields } })

const tool = { toolName: 'calculate', title: '計算', ...tsumugi({ offset: 3 }) }

export const event = {
  start: (run: number, messageId = 'answer') =>
    part('start', {
      messageId,
      messageMetadata: { user_message_id: 'question', thread_id: 'thread', run },
    }),
  step: (status: string) =>
    part('data-step', { id: 'retrieval', data: { kind: 'retrieval', status }, transient: true }),
  reasoningStart: (elapsed_ms: number) =>
    part('reasoning-start', { id: 'reasoning', ...tsumugi({ elapsed_ms }) }),
  reasoning: (delta: string) => part('reasoning-delta', { id: 'reasoning', delta }),
  reasoningEnd: (duration_ms: number) =>
    part('reasoning-end', { id: 'reasoning', ...tsumugi({ duration_ms }) }),
  toolCall: (toolCallId: string) =>
    part('tool-input-available', { toolCallId, ...tool, input: { expression: '1+2' } }),
  toolStart: (toolCallId: string) =>
    part('tool-input-start', { toolCallId, ...tool, providerExecuted: true }),
  toolDelta: (toolCallId: string, inputTextDelta: string) =>
    part('tool-input-delta', { toolCallId, inputTextDelta }),
  toolWithdrawn: (toolCallId: string) =>
    part('tool-input-error', { toolCallId, toolName: 'calculate', input: '', errorText: '中止' }),
  toolResult: (toolCallId: string, result: { output?: string; errorText?: string }) =>
    part(result.errorText === undefined ? 'tool-output-available' : 'tool-output-error', {
      toolCallId,
      ...result,
    }),
  source: (sourceId: string, index: number) =>
    part('source-document', {
      sourceId,
      mediaType: 'application/pdf',
      title: '就業規則',
      filename: '就業規則.pdf',
      index,
      page: 3,
      ...tsumugi({ index, page: 3, data_source_id: 'file', locator: '第3章' }),
    }),
  citations: (...citations: object[]) => part('data-citations', { data: { citations }, transient: true }),
  delta: (run: number, offset: number, delta: string) =>
    part('text-delta', { id: '0', delta }, formatCursor({ run, offset })),
  reset: (run: number) => part('data-reset', { data: { run }, transient: true }, `${run}-0`),
  title: (title: string, updated_at = '2026-03-01T00:00:00Z') =>
    part('data-title', { data: { title, updated_at }, transient: true }),
  finish: (run: number, offset: number) =>
    part(
      'finish',
      { finishReason: 'stop', messageMetadata: { usage: { input_tokens: 12, output_tokens: 34 } } },
      formatCursor({ run, offset }),
    ),
  abort: () => part('abort', { reason: 'stopped' }),
  error: (code: string) => part('error', { errorText: '応答がありません。', code, retryable: true }),
  done: (): Event => ({ data: '[DONE]' }),
  other: (type: string) => part(type, { id: '0' }),
}

export function encode(events: readonly Event[]): Uint8Array {
  const lines = events.map(({ id, data }) => `data: ${data}\n${id === undefined ? '' : `id: ${id}\n`}\n`)
  return new TextEncoder().encode(lines.join(''))
}

/** script returns the server's events, by the contract, for one run of one answer after a cursor. */
export function script(run: number, deltas: readonly string[], cursor: string | null): Event[] {
  const asked = cursor === null ? null : parseCursor(cursor)
  const total = utf8Length(deltas.join(''))
  const ends = new Set([0])
  for (let i = 0, at = 0; i < deltas.length; i++) {
    at += utf8Length(deltas[i] ?? '')
    ends.add(at)
  }
  const known = asked !== null && asked.run === run && ends.has(asked.offset)
  const from = known ? asked.offset : 0
  const events: Event[] = [event.start(run)]
  if (cursor !== null && !known) events.push(event.reset(run))
  events.push(event.step('success'), event.source('chunk', 1))
  events.push(event.other('text-start'))
  let at = 0
  for (const delta of deltas) {
    at += utf8Length(delta)
    if (at > from) events.push(event.delta(run, at, delta))
  }
  return [...events, event.other('text-end'), event.title('題'), event.finish(run, total), event.done()]
}

export interface Call {
  readonly url: string
  readonly method: string
  readonly body: string | null
  readonly cursor: string | null
  readonly signal: AbortSignal
}

/** fakeFetch returns a `fetch` that passes each call to `answer` and records it. */
export function fakeFetch(answer: (call: Call, index: number) => Response | Promise<Response>): {
  fetch: typeof fetch
  calls: Call[]
} {
  const calls: Call[] = []
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    const call: Call = {
      url: String(input),
      method: init.method ?? 'GET',
      body: typeof init.body === 'string' ? init.body : null,
      cursor: headers.get('last-event-id'),
      signal: init.signal ?? new AbortController().signal,
    }
    calls.push(call)
    return answer(call, calls.length - 1)
  }
  return { fetch: fetch as typeof globalThis.fetch, calls }
}

export function streamResponse(body: ReadableStream<Uint8Array> | Uint8Array): Response {
  const stream = body instanceof Uint8Array ? streamOf([body], 'close') : body
  return new Response(stream, { status: 200, headers: { 'content-type': 'text/event-stream' } })
}

export function problemResponse(
  status: number,
  problem: object,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(problem), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  })
}

/** A body of these chunks that then closes, breaks, or stays open. */
export function streamOf(
  chunks: readonly Uint8Array[],
  end: 'close' | 'break' | 'hang',
): ReadableStream<Uint8Array> {
  let next = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[next++]
      if (chunk !== undefined) controller.enqueue(chunk)
      else if (end === 'close') controller.close()
      else if (end === 'break') controller.error(new TypeError('network error'))
      else return new Promise(() => {})
      return undefined
    },
  })
}

/** Cuts bytes into chunks of 1 to `most` bytes, at any position. */
export function randomChunks(random: () => number, bytes: Uint8Array, most: number): Uint8Array[] {
  return slices(random, bytes, most)
}

function slices<T extends { readonly length: number; slice(start: number, end: number): T }>(
  random: () => number,
  whole: T,
  most: number,
): T[] {
  const found: T[] = []
  for (let at = 0; at < whole.length; ) {
    const size = 1 + Math.floor(random() * most)
    found.push(whole.slice(at, at + size))
    at += size
  }
  return found
}

/** No delay between attempts. */
export const impatient: ConnectionPolicy = { ...defaultPolicy, backoff: { firstMs: 0, maxMs: 0 } }

export function fakeDeps(
  fetch: typeof globalThis.fetch,
): ConnectionDeps & { fire: (reason: WakeReason) => void } {
  const listeners = new Set<(reason: WakeReason) => void>()
  return {
    fetch,
    wake: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    now: () => Date.now(),
    random: () => 0.5,
    fire: (reason) => {
      for (const listener of listeners) listener(reason)
    },
  }
}
