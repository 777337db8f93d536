import { formatCursor, parseCursor, utf8Length } from './cursor'
import {
  type AnswerCitation,
  type AnswerPart,
  type AnswerSource,
  type AnswerStep,
  type AnswerToolCall,
  type AnswerUsage,
  decodeExchange,
  decodePart,
  type Frame,
  type ThreadTitle,
} from './events'
import { type ReceivedProofreading, withProofread } from './proofread'

/** How a generation ended. */
export type Outcome =
  | { readonly kind: 'finished'; readonly reason: string; readonly usage: AnswerUsage | null }
  | { readonly kind: 'stopped' }
  | {
      readonly kind: 'failed'
      readonly message: string
      readonly code: string
      readonly retryable: boolean
    }

/** The model's reasoning before the answer. */
export interface Thinking {
  /** The start time, in milliseconds since the epoch, by the client's clock. */
  readonly startedAt: number
  /** Its duration; null while it continues. */
  readonly durationMs: number | null
}

/** The state of one answer in the client. Plain data; changed by `receive` only. */
export interface Answer {
  readonly messageId: string | null
  readonly userMessageId: string | null
  readonly threadId: string | null
  /** The run of the text; 0 until the server has announced one. */
  readonly run: number
  /** The run that the connection's `start` or `data-reset` has announced. */
  readonly announced: number
  readonly text: string
  /** The number of UTF-8 bytes of `text`: the client's cursor. */
  readonly bytes: number
  readonly thinking: Thinking | null
  /** The model's reasoning; cursors do not count it. */
  readonly reasoning: string
  readonly steps: readonly AnswerStep[]
  readonly toolCalls: readonly AnswerToolCall[]
  readonly sources: readonly AnswerSource[]
  /** The results of the answer's check; null until received. */
  readonly citations: readonly AnswerCitation[] | null
  /** The text being proofread, with the changes so far; null for other answers. */
  readonly proofread: ReceivedProofreading | null
  readonly title: ThreadTitle | null
  readonly outcome: Outcome | null
  /** `[DONE]` has arrived: nothing more will follow. */
  readonly done: boolean
  /** The text is no longer trusted. Request without a cursor, and discard the text at the next `start`. */
  readonly restart: boolean
  /** Text of an earlier run was shown and has been discarded. A later run writes the answer again. */
  readonly rewriting: boolean
}

/** The connection's next step after a frame. */
export type Verdict = 'continue' | 'done' | 'resync'

export interface Received {
  readonly answer: Answer
  readonly verdict: Verdict
}

/** The empty state of all parts except the text. */
const preface = {
  thinking: null,
  reasoning: '',
  steps: [],
  toolCalls: [],
  sources: [],
  citations: null,
  proofread: null,
} as const

const blank = { ...preface, text: '', bytes: 0, outcome: null, restart: false } as const

export const emptyAnswer: Answer = {
  ...blank,
  messageId: null,
  userMessageId: null,
  threadId: null,
  run: 0,
  announced: 0,
  title: null,
  done: false,
  rewriting: false,
}

/** cursorOf returns the `Last-Event-ID` to send, or null to request everything. */
export function cursorOf(answer: Answer): string | null {
  if (answer.restart || answer.run === 0 || answer.bytes === 0) return null
  return formatCursor({ run: answer.run, offset: answer.bytes })
}

/**
 * receive processes one frame. The text only grows by bytes that continue it, within one run or in a later one that
 * continues it. Anything else (a gap, an overlap, an unannounced change of run, a malformed frame) leaves the text
 * unchanged and requests a new connection that starts over. So the text is always a prefix of the server's text.
 */
export function receive(answer: Answer, frame: Frame): Received {
  if (answer.done) return { answer, verdict: 'done' }
  const part = decodePart(frame.data)
  switch (part.type) {
    case 'ignored':
      return keep(answer)
    case 'broken':
      return resync(answer)
    case 'start':
      return keep(started(answer, part))
    case 'reset':
      return keep({
        ...answer,
        ...blank,
        run: part.run,
        announced: part.run,
        rewriting: rewrites(answer, part.run),
      })
    case 'delta':
      return grown(answer, frame.id, part.delta)
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
      return keep(thought(answer, part))
    case 'step':
      return keep({ ...answer, steps: upsert(answer.steps, part.step) })
    case 'source':
      return keep({ ...answer, sources: upsert(answer.sources, part.source) })
    case 'tool-call':
      // Each connection sends all calls again; a known one may have its result already, or arguments that a person has
      // changed.
      return keep({
        ...answer,
        toolCalls: upsert(answer.toolCalls, part.call, (call) =>
          call.status === 'writing' ? part.call : { ...call, arguments: part.call.arguments },
        ),
      })
    case 'tool-delta':
      return keep(
        changeCall(answer, part.id, (call) => ({ ...call, arguments: call.arguments + part.delta })),
      )
    case 'tool-withdrawn':
      return keep(written(answer, part.id))
    case 'tool-approval':
      return keep(changeCall(answer, part.id, (call) => ({ ...call, approval: part.approval })))
    case 'tool-result': {
      const { result, error, status } = part
      return keep(changeCall(answer, part.id, (call) => ({ ...call, result, error, status })))
    }
    case 'citations':
      return keep({ ...answer, citations: part.citations })
    case 'proofread-text':
    case 'change':
    case 'proofread':
      return keep({ ...answer, proofread: withProofread(answer.proofread, part) })
    case 'title':
      return keep({ ...answer, title: part.title })
    case 'done':
      // An end without an outcome comes from a proxy or a bug, not from the server.
      if (answer.outcome === null || answer.restart) return resync(answer)
      return { answer: { ...answer, done: true }, verdict: 'done' }
    default:
      return ended(answer, frame.id, part)
  }
}

/**
 * receiveExchange processes the records of a question and its answer from a call without a stream; null if they are
 * malformed.
 */
export function receiveExchange(answer: Answer, exchange: unknown): Answer | null {
  const ids = decodeExchange(exchange)
  return ids && { ...answer, ...ids }
}

function changeCall(answer: Answer, id: string, change: (call: AnswerToolCall) => AnswerToolCall): Answer {
  return { ...answer, toolCalls: answer.toolCalls.map((call) => (call.id === id ? change(call) : call)) }
}

/** written drops the calls that the model has not finished writing, or one of them. */
function written(answer: Answer, id?: string): Answer {
  const toolCalls = answer.toolCalls.filter(
    (call) => call.status !== 'writing' || (id !== undefined && call.id !== id),
  )
  return toolCalls.length < answer.toolCalls.length ? { ...answer, toolCalls } : answer
}

function keep(answer: Answer): Received {
  return { answer, verdict: 'continue' }
}

function resync(answer: Answer): Received {
  return { answer: { ...answer, restart: true, outcome: null }, verdict: 'resync' }
}

function started(answer: Answer, part: Extract<AnswerPart, { type: 'start' }>): Answer {
  const rewriting = rewrites(answer, part.run ?? 0)
  // Without a cursor the server sends everything that precedes the text from its start, perhaps that of a later run.
  const again = answer.bytes === 0 ? { ...answer, ...preface } : written(answer)
  const base = answer.restart ? { ...answer, ...blank, run: 0, rewriting } : again
  return {
    ...base,
    messageId: part.messageId,
    userMessageId: part.userMessageId ?? base.userMessageId,
    threadId: part.threadId ?? base.threadId,
    // The text belongs to its run until a reset, or until the announced run continues it.
    run: base.bytes === 0 ? (part.run ?? base.run) : base.run,
    announced: part.run ?? 0,
  }
}

function grown(answer: Answer, id: string, delta: string): Received {
  const cursor = parseCursor(id)
  if (cursor === null || answer.restart) return resync(answer)
  const adopts = answer.bytes === 0 && answer.run === 0
  if (!adopts && !belongs(answer, cursor.run)) {
    return cursor.run < answer.run ? keep(answer) : resync(answer)
  }
  // A frame that is entirely within the text is a repetition, because a run's text never changes.
  if (cursor.run === answer.run && cursor.offset <= answer.bytes) return keep(answer)
  if (cursor.offset - utf8Length(delta) !== answer.bytes) return resync(answer)
  return keep({
    ...answer,
    run: cursor.run,
    text: answer.text + delta,
    bytes: cursor.offset,
  })
}

/**
 * belongs reports whether the text of a run continues the client's text: it is of the same run, or of a later one that
 * the connection has announced without a reset.
 */
function belongs(answer: Answer, run: number): boolean {
  return run === answer.run || (run > answer.run && run === answer.announced)
}

type ReasoningPart = Extract<AnswerPart, { type: `reasoning-${string}` }>

/** thought adds reasoning. It precedes the text, and is repeated as a whole or not at all. */
function thought(answer: Answer, part: ReasoningPart): Answer {
  switch (part.type) {
    case 'reasoning-start':
      return {
        ...answer,
        thinking: { startedAt: Date.now() - part.elapsedMs, durationMs: null },
        reasoning: '',
      }
    case 'reasoning-delta':
      return { ...answer, reasoning: answer.reasoning + part.delta }
    case 'reasoning-end': {
      const { thinking } = answer
      if (thinking === null) return answer
      const durationMs = part.durationMs ?? Date.now() - thinking.startedAt
      return { ...answer, thinking: { ...thinking, durationMs } }
    }
  }
}

/** rewrites reports whether shown text is replaced by that of a later run, now or before. */
function rewrites(answer: Answer, run: number): boolean {
  return answer.rewriting || (answer.bytes > 0 && run > answer.run)
}

type EndPart = Extract<AnswerPart, { type: 'finish' | 'abort' | 'error' }>

function ended(answer: Answer, id: string, part: EndPart): Received {
  if (answer.restart) return resync(answer)
  const cursor = parseCursor(id)
  // The last id is the length of the text. An end event with another length is invalid.
  if (cursor !== null && answer.run !== 0) {
    if (cursor.run < answer.run) return keep(answer)
    if (!belongs(answer, cursor.run) || cursor.offset !== answer.bytes) return resync(answer)
  }
  return keep({ ...written(answer), run: cursor?.run ?? answer.run, outcome: outcomeOf(part) })
}

function outcomeOf(part: EndPart): Outcome {
  switch (part.type) {
    case 'finish':
      return { kind: 'finished', reason: part.reason, usage: part.usage }
    case 'abort':
      return { kind: 'stopped' }
    case 'error': {
      const { message, code, retryable } = part
      return { kind: 'failed', message, code, retryable }
    }
  }
}

/**
 * upsert adds an item, or replaces the one with the same id. Steps, sources and calls are repeated on every connection.
 */
function upsert<T extends { readonly id: string }>(
  list: readonly T[],
  item: T,
  replace: (known: T) => T = () => item,
): readonly T[] {
  const at = list.findIndex((other) => other.id === item.id)
  if (at === -1) return [...list, item]
  return list.map((other, i) => (i === at ? replace(other) : other))
}
