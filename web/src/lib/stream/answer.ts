import { formatCursor, parseCursor, utf8Length } from './cursor'
import {
  type AnswerPart,
  type AnswerSource,
  type AnswerStep,
  type AnswerUsage,
  decodeExchange,
  decodePart,
  type Frame,
  type ThreadTitle,
} from './events'

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

/** That the model thinks before it answers, or has thought. */
export interface Thinking {
  /** When it began, in milliseconds since the epoch, by our clock. */
  readonly startedAt: number
  /** For how long it thought; null while it does. */
  readonly durationMs: number | null
}

/** Everything a client knows of one answer. Plain data; changed by `receive` alone. */
export interface Answer {
  readonly messageId: string | null
  readonly userMessageId: string | null
  readonly threadId: string | null
  /** The run the text belongs to; 0 until the server has named one. */
  readonly run: number
  readonly text: string
  /** UTF-8 bytes of `text`: our side of the cursor. */
  readonly bytes: number
  readonly thinking: Thinking | null
  /** What the model thinks, beside the text: no cursor counts it. */
  readonly reasoning: string
  readonly steps: readonly AnswerStep[]
  readonly sources: readonly AnswerSource[]
  readonly title: ThreadTitle | null
  readonly outcome: Outcome | null
  /** `[DONE]` was seen: nothing more will come. */
  readonly done: boolean
  /** The text is no longer trusted: ask without a cursor, and forget it at the next `start`. */
  readonly restart: boolean
  /** Text of an earlier run was shown and has been given up: the answer is being written anew. */
  readonly rewriting: boolean
}

/** What the connection has to do after a frame. */
export type Verdict = 'continue' | 'done' | 'resync'

export interface Received {
  readonly answer: Answer
  readonly verdict: Verdict
}

export const emptyAnswer: Answer = {
  messageId: null,
  userMessageId: null,
  threadId: null,
  run: 0,
  text: '',
  bytes: 0,
  thinking: null,
  reasoning: '',
  steps: [],
  sources: [],
  title: null,
  outcome: null,
  done: false,
  restart: false,
  rewriting: false,
}

/** The `Last-Event-ID` to ask with, or null to ask for everything. */
export function cursorOf(answer: Answer): string | null {
  if (answer.restart || answer.run === 0 || answer.bytes === 0) return null
  return formatCursor({ run: answer.run, offset: answer.bytes })
}

/**
 * Takes one frame. The text only ever grows by bytes that follow on those held, within one run;
 * whatever else a connection brings (a hole, an overlap, a change of run that nobody announced,
 * something that is no frame) leaves the text as it is and asks for a new connection that starts
 * over. So the text is at every moment a prefix of what the server has, in one piece.
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
      return keep({ ...answer, ...blank, run: part.run, rewriting: rewrites(answer, part.run) })
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
    case 'title':
      return keep({ ...answer, title: part.title })
    case 'done':
      // An end without an outcome is no end of ours: a proxy or a bug wrote it.
      if (answer.outcome === null || answer.restart) return resync(answer)
      return { answer: { ...answer, done: true }, verdict: 'done' }
    default:
      return ended(answer, frame.id, part)
  }
}

/** Takes the records of a question and its answer, as a call without a stream answers them; null if they are none. */
export function receiveExchange(answer: Answer, exchange: unknown): Answer | null {
  const ids = decodeExchange(exchange)
  return ids && { ...answer, ...ids }
}

const blank = {
  text: '',
  bytes: 0,
  thinking: null,
  reasoning: '',
  steps: [],
  sources: [],
  outcome: null,
  restart: false,
} as const

function keep(answer: Answer): Received {
  return { answer, verdict: 'continue' }
}

function resync(answer: Answer): Received {
  return { answer: { ...answer, restart: true, outcome: null }, verdict: 'resync' }
}

function started(answer: Answer, part: Extract<AnswerPart, { type: 'start' }>): Answer {
  const rewriting = rewrites(answer, part.run ?? 0)
  // Who asks without a cursor is told the reasoning from its start; who has some of the text has all of it.
  const unthought = answer.bytes === 0 ? { ...answer, thinking: null, reasoning: '' } : answer
  const base = answer.restart ? { ...answer, ...blank, run: 0, rewriting } : unthought
  return {
    ...base,
    messageId: part.messageId,
    userMessageId: part.userMessageId ?? base.userMessageId,
    threadId: part.threadId ?? base.threadId,
    // Text that is held belongs to its run until a reset says otherwise.
    run: base.bytes === 0 ? (part.run ?? base.run) : base.run,
  }
}

function grown(answer: Answer, id: string, delta: string): Received {
  const cursor = parseCursor(id)
  if (cursor === null || answer.restart) return resync(answer)
  const adopts = answer.bytes === 0 && answer.run === 0
  if (!adopts && cursor.run !== answer.run) {
    return cursor.run < answer.run ? keep(answer) : resync(answer)
  }
  // A frame that lies wholly within the text came before: a run's text never changes.
  if (cursor.offset <= answer.bytes) return keep(answer)
  if (cursor.offset - utf8Length(delta) !== answer.bytes) return resync(answer)
  return keep({
    ...answer,
    run: cursor.run,
    text: answer.text + delta,
    bytes: cursor.offset,
  })
}

type ReasoningPart = Extract<AnswerPart, { type: `reasoning-${string}` }>

/** The reasoning comes before the text, and is told anew as a whole or not at all. */
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

/** Whether text that was shown gives way to that of a later run, now or before. */
function rewrites(answer: Answer, run: number): boolean {
  return answer.rewriting || (answer.bytes > 0 && run > answer.run)
}

type EndPart = Extract<AnswerPart, { type: 'finish' | 'abort' | 'error' }>

function ended(answer: Answer, id: string, part: EndPart): Received {
  if (answer.restart) return resync(answer)
  const cursor = parseCursor(id)
  // The last id says how long the text is: an end that comes too early or too late is none.
  if (cursor !== null && answer.run !== 0) {
    if (cursor.run < answer.run) return keep(answer)
    if (cursor.run > answer.run || cursor.offset !== answer.bytes) return resync(answer)
  }
  return keep({ ...answer, outcome: outcomeOf(part) })
}

function outcomeOf(part: EndPart): Outcome {
  switch (part.type) {
    case 'finish':
      return { kind: 'finished', reason: part.reason, usage: part.usage }
    case 'abort':
      return { kind: 'stopped' }
    case 'error':
      return {
        kind: 'failed',
        message: part.message,
        code: part.code,
        retryable: part.retryable,
      }
  }
}

/** Steps and sources are sent again on every connection: the same id replaces, so none doubles. */
function upsert<T extends { readonly id: string }>(list: readonly T[], item: T): readonly T[] {
  const at = list.findIndex((other) => other.id === item.id)
  if (at === -1) return [...list, item]
  return list.map((other, i) => (i === at ? item : other))
}
