import type { Message, Proofread, ToolCall } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { AnswerToolCall, AnswerView, LiveAnswer, Proofreading } from '@/lib/stream'
import { citationsOf } from '../citations/citations'

/** Turn is one message of a thread on the screen. */
export interface Turn {
  /** Constant, even when an optimistic message gets its server id. */
  readonly key: string
  readonly message: Message
  /** The stream of the answer while it is running. */
  readonly live: LiveAnswer | null
  /** The stream of the new answer that will replace this one once it begins. */
  readonly successor: LiveAnswer | null
  /** Whether the turn is optimistic: its message has no server id. */
  readonly pending: boolean
}

export function storedTurn(message: Message): Turn {
  return { key: message.id, message, live: null, successor: null, pending: false }
}

/** isRunning reports whether an answer is pending or running according to the server. */
export function isRunning(message: Pick<Message, 'status'>): boolean {
  return message.status === 'pending' || message.status === 'running'
}

/** isWriting reports whether this tab is streaming the answer of a turn. */
export function isWriting(turn: Turn | undefined): boolean {
  return turn !== undefined && (turn.live !== null || turn.successor !== null)
}

/** hasPending reports whether there are turns whose server ids are unknown here. */
export function hasPending(turns: readonly Turn[]): boolean {
  return turns.some((turn) => turn.pending || turn.successor !== null)
}

/** hasGap reports whether messages may be missing between the loaded turns and the newest page. */
export function hasGap(turns: readonly Turn[], page: readonly Message[]): boolean {
  const oldest = page.at(-1)
  if (turns.length === 0 || oldest?.parent_id === undefined) return false
  return !turns.some(({ message }) => message.id === oldest.id || message.id === oldest.parent_id)
}

/** hasOlder reports whether there are messages before the loaded turns. */
export function hasOlder(turns: readonly Turn[]): boolean {
  return turns[0]?.message.parent_id !== undefined
}

/** optimisticId returns the provisional id of a pending question. */
export function optimisticId(requestId: string): string {
  return `question:${requestId}`
}

/** optimisticTurns returns the optimistic turns of a question and its answer. */
export function optimisticTurns(
  requestId: string,
  threadId: string,
  asked: Pick<
    Message,
    'author' | 'content' | 'form' | 'data_source_ids' | 'pictures' | 'parent_id' | 'siblings'
  >,
  live: LiveAnswer,
  now: string,
): readonly [Turn, Turn] {
  const base = { thread_id: threadId, citations: [], steps: [], created_at: now }
  const id = optimisticId(requestId)
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

/** withoutOptimistic removes the optimistic turns of a question. */
export function withoutOptimistic(turns: readonly Turn[], requestId: string): readonly Turn[] {
  return turns.filter(
    ({ message }) => message.id !== optimisticId(requestId) && message.id !== `answer:${requestId}`,
  )
}

/** lostMessage returns an answer with an unknown outcome and the text received so far. */
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

/** withQuestionId gives an optimistic question its server id. */
export function withQuestionId(turn: Turn, id: string): Turn {
  const siblings = turn.message.siblings.map((other) => (other === turn.message.id ? id : other))
  return { ...turn, pending: false, message: { ...turn.message, id, siblings } }
}

/** withAnswerId gives an optimistic answer its server id and its question's id. */
export function withAnswerId(turn: Turn, id: string, questionId: string | null): Turn {
  const parent = questionId === null ? {} : { parent_id: questionId }
  return {
    ...turn,
    pending: false,
    message: { ...turn.message, ...parent, id, siblings: [id], status: 'running' },
  }
}

/** withRegeneratedAnswer replaces an answer by its regenerated one. */
export function withRegeneratedAnswer(turn: Turn, live: LiveAnswer, id: string, now: string): Turn {
  const { thread_id, parent_id, siblings } = turn.message
  return {
    ...turn,
    live,
    successor: null,
    message: {
      thread_id,
      ...(parent_id !== undefined && { parent_id }),
      id,
      siblings: [...siblings, id],
      role: 'assistant',
      content: '',
      status: 'running',
      citations: [],
      steps: [],
      created_at: now,
    },
  }
}

/** sameOutcome reports whether an event about a message contains nothing new. */
export function sameOutcome(message: Message, event: LiveMessage): boolean {
  return (
    message.status === event.status &&
    message.finish_reason === event.finish_reason &&
    JSON.stringify(message.feedback) === JSON.stringify(event.feedback) &&
    JSON.stringify(message.proofread?.decisions) === JSON.stringify(event.decisions)
  )
}

/**
 * mergeNewest merges the newest page of a branch (newest first) into the loaded turns. Turns before the page stay.
 * Messages of the page replace optimistic turns. Turns of another branch are removed, and their alternatives take over
 * their keys. Turns that the server cannot know yet stay at the end.
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

// A streaming answer has newer text than the server, which stores it only at the end.
function withMessage(turn: Turn, message: Message): Turn {
  const same = JSON.stringify(turn.message) === JSON.stringify(message)
  return same ? turn : { ...turn, message, pending: false }
}

/**
 * prependOlder puts an older page (newest first) before the loaded turns. Messages that moved between pages appear
 * once.
 */
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

/** endedMessage returns the message at the end of its stream. The server's record soon replaces it. */
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
    ...(view.toolCalls.length > 0 && { tool_calls: view.toolCalls.map(storedToolCall) }),
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

function storedToolCall(call: AnswerToolCall): ToolCall {
  const { status, approval, ...rest } = call
  return {
    ...rest,
    status: status === 'running' || status === 'writing' ? 'failed' : status,
    duration_ms: 0,
    ...(approval && { approval }),
  }
}

type StepKind = Message['steps'][number]['kind']

const stepKinds: readonly string[] = [
  'retrieval',
  'web_search',
  'summarize',
  'proofread',
  'skill_documents',
  'tools_refused',
] satisfies StepKind[]

function isStepKind(kind: string): kind is StepKind {
  return stepKinds.includes(kind)
}
