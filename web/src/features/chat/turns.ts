import type { Citation, Message } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { AnswerSource, AnswerView, LiveAnswer } from '@/lib/stream'

/** One message of a thread as the screen holds it. */
export interface Turn {
  /** Never changes, also when a message that was shown ahead gets its id. */
  readonly key: string
  readonly message: Message
  /** The answer while it is being written. */
  readonly live: LiveAnswer | null
  /** What is to take the place of this answer, once it has begun. */
  readonly successor: LiveAnswer | null
  /** A question or answer that the server has not confirmed: its message has no id of the server's. */
  readonly pending: boolean
}

export function storedTurn(message: Message): Turn {
  return { key: message.id, message, live: null, successor: null, pending: false }
}

/** Whether an answer is still to come or being written, as far as the server had told. */
export function isRunning(message: Pick<Message, 'status'>): boolean {
  return message.status === 'pending' || message.status === 'running'
}

/** Whether this turn is an answer that is being written, seen from here. */
export function isWriting(turn: Turn | undefined): boolean {
  return turn !== undefined && (turn.live !== null || turn.successor !== null)
}

/** Whether there is something that the server may know under an id that is not known here yet. */
export function hasPending(turns: readonly Turn[]): boolean {
  return turns.some((turn) => turn.pending || turn.successor !== null)
}

/** Whether there may be messages between the turns at hand and the newest page, which could have been so long. */
export function hasGap(turns: readonly Turn[], page: readonly Message[], limit: number): boolean {
  const known = new Set(turns.map((turn) => turn.message.id))
  return known.size > 0 && page.length === limit && !page.some((message) => known.has(message.id))
}

/** A question and the place of its answer, shown before the server knows of them. */
export function aheadTurns(
  requestId: string,
  threadId: string,
  content: string,
  live: LiveAnswer,
  now: string,
): readonly [Turn, Turn] {
  const base = { thread_id: threadId, siblings: [], citations: [], steps: [], created_at: now }
  const question: Message = { ...base, id: `question:${requestId}`, role: 'user', content, status: 'success' }
  const answer: Message = {
    ...base,
    id: `answer:${requestId}`,
    role: 'assistant',
    content: '',
    status: 'pending',
  }
  return [
    { ...storedTurn(question), pending: true },
    { ...storedTurn(answer), live, pending: true },
  ]
}

/** The turns without what was shown ahead of a question. */
export function withoutAhead(turns: readonly Turn[], requestId: string): readonly Turn[] {
  return turns.filter(
    ({ message }) => message.id !== `question:${requestId}` && message.id !== `answer:${requestId}`,
  )
}

/** An answer whose end nobody can tell, with the text that came. */
export function lostMessage(message: Message, text: string, detail: string): Message {
  const error = { code: 'stream_lost', detail, retryable: true }
  return {
    ...message,
    content: text || message.content,
    status: 'failed',
    finish_reason: 'error',
    error,
  }
}

/** A turn that was shown ahead, when the server has told its id. */
export function confirmed(turn: Turn, id: string): Turn {
  const status = turn.message.role === 'assistant' ? 'running' : turn.message.status
  return { ...turn, pending: false, message: { ...turn.message, id, status } }
}

/** An answer that is made anew, in the place of the old one. */
export function succeeded(turn: Turn, live: LiveAnswer, id: string, now: string): Turn {
  const { feedback: _, error: __, completed_at: ___, finish_reason: ____, ...message } = turn.message
  return {
    ...turn,
    live,
    successor: null,
    message: { ...message, id, content: '', status: 'running', citations: [], steps: [], created_at: now },
  }
}

/** Whether what is told of a message is known already. */
export function sameOutcome(message: Message, told: LiveMessage): boolean {
  return (
    message.status === told.status &&
    message.finish_reason === told.finish_reason &&
    JSON.stringify(message.feedback) === JSON.stringify(told.feedback)
  )
}

/**
 * Puts the newest page the server told (newest first) into the turns at hand. Older turns stay; what the server knows
 * replaces what was shown ahead; what it no longer lists (an answer that was asked again elsewhere) goes; what it
 * cannot know yet stays at the end.
 */
export function mergeNewest(turns: readonly Turn[], page: readonly Message[]): readonly Turn[] {
  const messages = page.toReversed()
  const byId = new Map(turns.map((turn) => [turn.message.id, turn]))
  const oldest = messages[0]
  const older =
    oldest === undefined ? [] : turns.filter((turn) => !turn.pending && precedes(turn.message, oldest))
  const fresh = messages.map((message) => withMessage(byId.get(message.id), message))
  const pending = turns.filter((turn) => turn.pending)
  return [...older, ...fresh, ...pending]
}

function precedes(a: Message, b: Message): boolean {
  // Ids are UUIDv7: they sort by time, and do so also for two messages of one moment.
  return a.id !== b.id && a.id < b.id
}

// A text that is being written here is newer than what the server has stored, which is none.
function withMessage(turn: Turn | undefined, message: Message): Turn {
  if (turn === undefined) return storedTurn(message)
  return sameMessage(turn.message, message) ? turn : { ...turn, message, pending: false }
}

function sameMessage(a: Message, b: Message): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Puts an older page (newest first) before the turns at hand; what moved between pages stands once. */
export function prependOlder(turns: readonly Turn[], page: readonly Message[]): readonly Turn[] {
  const known = new Set(turns.map((turn) => turn.message.id))
  return [
    ...page
      .toReversed()
      .filter((message) => !known.has(message.id))
      .map(storedTurn),
    ...turns,
  ]
}

/** The message as it is known when its stream has ended; the server's own record replaces it soon. */
export function endedMessage(
  message: Message,
  view: AnswerView,
  text: string,
  reasoning: string,
  now: string,
): Message {
  const { reasoning: _, reasoning_ms: __, ...before } = message
  const ended: Message = {
    ...before,
    content: text,
    ...(reasoning && { reasoning, reasoning_ms: view.thinking?.durationMs ?? 0 }),
    completed_at: now,
    citations: view.sources.filter((source) => source.url === null).map(toCitation),
    steps: view.steps.flatMap(({ kind, status, detail }) =>
      isStepKind(kind) ? [{ kind, status, detail }] : [],
    ),
  }
  const { outcome } = view
  switch (outcome?.kind) {
    case 'finished': {
      const usage = outcome.usage
      return {
        ...ended,
        status: 'success',
        finish_reason: outcome.reason === 'length' ? 'length' : 'stop',
        ...(usage && { usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } }),
      }
    }
    case 'stopped':
      return { ...ended, status: 'success', finish_reason: 'stopped' }
    case 'failed': {
      const { code, message: detail, retryable } = outcome
      return { ...ended, status: 'failed', finish_reason: 'error', error: { code, detail, retryable } }
    }
    default:
      return message
  }
}

function isStepKind(kind: string): kind is 'retrieval' | 'web_search' | 'summarize' {
  return kind === 'retrieval' || kind === 'web_search' || kind === 'summarize'
}

function toCitation(source: AnswerSource): Citation {
  return {
    index: source.index,
    chunk_embedding_id: source.id,
    data_source_id: '',
    filename: source.filename,
    page: source.page ?? 0,
    score: 0,
    quote: '',
  }
}

/** A stored citation as a source of a live answer, so that both are drawn alike. */
export function toSource(citation: Citation): AnswerSource {
  return {
    id: citation.chunk_embedding_id,
    index: citation.index,
    title: citation.filename,
    filename: citation.filename,
    mediaType: '',
    page: citation.page > 0 ? citation.page : null,
    url: null,
  }
}
