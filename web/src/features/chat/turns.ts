import type { Message, Proofread } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { AnswerView, LiveAnswer, Proofreading } from '@/lib/stream'
import { citationsOf } from './citations'

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

/** Whether there may be messages between the turns at hand and the newest page. */
export function hasGap(turns: readonly Turn[], page: readonly Message[]): boolean {
  const oldest = page.at(-1)
  if (turns.length === 0 || oldest?.parent_id === undefined) return false
  return !turns.some(({ message }) => message.id === oldest.id || message.id === oldest.parent_id)
}

/** Whether there are messages before the turns at hand. */
export function hasOlder(turns: readonly Turn[]): boolean {
  return turns[0]?.message.parent_id !== undefined
}

/** What stands for the id of a question that is on its way. */
export function aheadId(requestId: string): string {
  return `question:${requestId}`
}

/** A question and the place of its answer, shown before the server knows of them. */
export function aheadTurns(
  requestId: string,
  threadId: string,
  asked: Pick<Message, 'content' | 'form' | 'data_source_ids' | 'pictures' | 'parent_id' | 'siblings'>,
  live: LiveAnswer,
  now: string,
): readonly [Turn, Turn] {
  const base = { thread_id: threadId, citations: [], steps: [], created_at: now }
  const id = aheadId(requestId)
  const siblings = [...asked.siblings, id]
  const question: Message = { ...base, ...asked, siblings, id, role: 'user', status: 'success' }
  const answer: Message = {
    ...base,
    parent_id: id,
    siblings: [],
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
    ({ message }) => message.id !== aheadId(requestId) && message.id !== `answer:${requestId}`,
  )
}

/** An answer whose end is unknown, with the text so far. */
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

/** A question that was shown ahead, when the server has told its id. */
export function taken(turn: Turn, id: string): Turn {
  const siblings = turn.message.siblings.map((other) => (other === turn.message.id ? id : other))
  return { ...turn, pending: false, message: { ...turn.message, id, siblings } }
}

/** An answer that was shown ahead, when the server has told its id and its question's. */
export function begun(turn: Turn, id: string, questionId: string | null): Turn {
  const parent = questionId === null ? {} : { parent_id: questionId }
  return {
    ...turn,
    pending: false,
    message: { ...turn.message, ...parent, id, siblings: [id], status: 'running' },
  }
}

/** An answer that is made anew, in the place of the old one. */
export function succeeded(turn: Turn, live: LiveAnswer, id: string, now: string): Turn {
  const {
    feedback: _,
    error: __,
    completed_at: ___,
    finish_reason: ____,
    proofread: _____,
    model_id: ______,
    model_name: _______,
    ...message
  } = turn.message
  return {
    ...turn,
    live,
    successor: null,
    message: {
      ...message,
      id,
      siblings: [...message.siblings, id],
      content: '',
      status: 'running',
      citations: [],
      steps: [],
      created_at: now,
    },
  }
}

/** Whether what is told of a message is known already. */
export function sameOutcome(message: Message, told: LiveMessage): boolean {
  return (
    message.status === told.status &&
    message.finish_reason === told.finish_reason &&
    JSON.stringify(message.feedback) === JSON.stringify(told.feedback) &&
    JSON.stringify(message.proofread?.decisions) === JSON.stringify(told.decisions)
  )
}

/**
 * Puts the newest page of a branch that the server told (newest first) into the turns at hand. Those stay that the page
 * goes on from; what the server knows replaces what was shown ahead; what is not of the branch goes, and its place on
 * the screen is taken by its alternative; what the server cannot know yet stays at the end.
 */
export function mergeNewest(turns: readonly Turn[], page: readonly Message[]): readonly Turn[] {
  const messages = page.toReversed()
  const pending = turns.filter((turn) => turn.pending)
  const parent = messages[0]?.parent_id
  const older = turns.slice(0, turns.findIndex(({ message }) => message.id === parent) + 1)
  const byId = new Map(turns.map((turn) => [turn.message.id, turn]))
  const byParent = new Map(
    turns.filter((turn) => !turn.pending).map((turn) => [turn.message.parent_id ?? null, turn]),
  )
  const fresh = messages.map((message) => {
    const known = byId.get(message.id)
    if (known !== undefined) return withMessage(known, message)
    const alternative = byParent.get(message.parent_id ?? null)
    return alternative === undefined ? storedTurn(message) : { ...storedTurn(message), key: alternative.key }
  })
  return [...older, ...fresh, ...pending]
}

// A text that is being written here is newer than what the server has stored, which is none.
function withMessage(turn: Turn, message: Message): Turn {
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
    citations: citationsOf(view, text),
    ...(view.proofread && { proofread: storedProofread(view.proofread) }),
    steps: view.steps.flatMap(({ kind, status, detail, done, total }) =>
      isStepKind(kind) ? [{ kind, status, detail, ...(total > 0 && { done, total }) }] : [],
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

function storedProofread({ text, changes, dropped, unchecked }: Proofreading): Proofread {
  return { text, changes: [...changes], dropped, ...(unchecked.length > 0 && { unchecked: [...unchecked] }) }
}

type StepKind = Message['steps'][number]['kind']

const stepKinds: readonly string[] = [
  'retrieval',
  'web_search',
  'summarize',
  'proofread',
  'skill_documents',
] satisfies StepKind[]

function isStepKind(kind: string): kind is StepKind {
  return stepKinds.includes(kind)
}
