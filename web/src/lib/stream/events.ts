import type { ToolCallApproval } from '../api'
import { count, type Fields, fields, isFields, text } from './fields'
import { decodeChange, decodeProofread, decodeProofreadText, type ProofreadPart } from './proofread'

/**
 * Decodes and validates the parts of an answer stream (the AI SDK's UI message stream, version 1, with additional
 * `data-*` parts). Only these types reach the rest of the app, whatever the server sends.
 */

/** One complete server-sent event. */
export interface Frame {
  readonly id: string
  readonly data: string
}

export type StepStatus = 'pending' | 'running' | 'success' | 'failed'

/** AnswerStep is a step before the answer, such as a search. */
export interface AnswerStep {
  readonly id: string
  readonly kind: string
  readonly status: StepStatus
  /** A text for the user, shown unchanged, such as `要約中 3/12`. */
  readonly detail: string
  readonly done: number
  /** 0 if unknown. */
  readonly total: number
}

/** AnswerToolCall is a call of a tool by the assistant. */
export interface AnswerToolCall {
  readonly id: string
  readonly name: string
  /** The tool's name for people. */
  readonly title: string
  /** JSON as written by the model; its beginning while `writing`. */
  readonly arguments: string
  /** Bytes of the answer's text before the call. */
  readonly offset: number
  /** `writing`: the model is writing the arguments. `returned`: the program that asked makes the call. */
  readonly status: 'writing' | 'running' | 'success' | 'failed' | 'returned' | 'denied'
  readonly result: string
  /** Why the call failed; empty otherwise. */
  readonly error: string
  /** The decision about the call; null if it needs none. */
  readonly approval: CallApproval | null
}

/** CallApproval is the state of a decision about a call. */
export type CallApproval = Readonly<ToolCallApproval>

/** A passage of a document or a page of the web that the answer may cite as `[index]`. */
export interface AnswerSource {
  /** The id of the passage or of the web page. */
  readonly id: string
  readonly index: number
  readonly title: string
  readonly filename: string
  readonly mediaType: string
  readonly page: number | null
  /** For a web page only, like the next two fields; empty if unknown. */
  readonly url: string | null
  readonly site: string
  /** In the form 2026-09-01. */
  readonly publishedOn: string
  /** For a passage only: the document and the passage's position in it. */
  readonly dataSourceId: string
  readonly locator: string
}

/** Support is the result of an answer's check for a source: whether it supports the sentences that cite it. */
export type Support = 'strong' | 'weak'

/** AnswerCitation is a passage or a page that the answer cites or, without `support`, one that was only consulted. */
export interface AnswerCitation {
  readonly index: number
  /** Empty, like the other id, if the document belongs to the skill and the user may not open it. */
  readonly passageId: string
  /** Empty for a page. */
  readonly dataSourceId: string
  readonly filename: string
  readonly page: number
  readonly locator: string
  readonly score: number
  readonly quote: string
  readonly support: Support | null
  /**
   * The unsupported occurrences of `[index]` in the text, from 0; null if all occurrences of a weak one are
   * unsupported.
   */
  readonly weakOccurrences: readonly number[] | null
  /** Whether the file was deleted after the answer. */
  readonly deleted: boolean
  readonly url: string | null
  readonly site: string
  readonly publishedOn: string
}

export interface AnswerUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** ThreadTitle is the title of the answer's thread at a time. A later one takes precedence. */
export interface ThreadTitle {
  readonly text: string
  readonly updatedAt: string
}

export type AnswerPart =
  | {
      readonly type: 'start'
      readonly messageId: string
      readonly userMessageId: string | null
      readonly threadId: string | null
      readonly run: number | null
    }
  | { readonly type: 'step'; readonly step: AnswerStep }
  | { readonly type: 'source'; readonly source: AnswerSource }
  | { readonly type: 'tool-call'; readonly call: AnswerToolCall }
  | { readonly type: 'tool-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool-withdrawn'; readonly id: string }
  | { readonly type: 'tool-approval'; readonly id: string; readonly approval: CallApproval }
  | {
      readonly type: 'tool-result'
      readonly id: string
      readonly result: string
      readonly error: string
      readonly status: AnswerToolCall['status']
    }
  | { readonly type: 'citations'; readonly citations: readonly AnswerCitation[] }
  | ProofreadPart
  | { readonly type: 'delta'; readonly delta: string }
  /** The model is thinking, with the time elapsed so far. */
  | { readonly type: 'reasoning-start'; readonly elapsedMs: number }
  | { readonly type: 'reasoning-delta'; readonly delta: string }
  | { readonly type: 'reasoning-end'; readonly durationMs: number | null }
  | { readonly type: 'title'; readonly title: ThreadTitle }
  | { readonly type: 'reset'; readonly run: number }
  | { readonly type: 'finish'; readonly reason: string; readonly usage: AnswerUsage | null }
  | { readonly type: 'abort' }
  | {
      readonly type: 'error'
      readonly message: string
      readonly code: string
      readonly retryable: boolean
    }
  | { readonly type: 'done' }
  /** A part for other clients, or from a newer server: skipped. */
  | { readonly type: 'ignored' }
  /** Malformed: the stream can no longer be trusted. */
  | { readonly type: 'broken' }

const ignored: AnswerPart = { type: 'ignored' }
const broken: AnswerPart = { type: 'broken' }
const done: AnswerPart = { type: 'done' }

/** decodePart decodes the data of one event. It ignores an event without data (a heartbeat, `retry:`). */
export function decodePart(data: string): AnswerPart {
  if (data === '') return ignored
  if (data === '[DONE]') return done
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return broken
  }
  if (!isFields(value) || typeof value.type !== 'string') return broken
  const decode = decoders[value.type]
  return decode === undefined ? ignored : decode(value)
}

const decoders: Readonly<Record<string, (fields: Fields) => AnswerPart>> = {
  __proto__: null as never,
  start: decodeStart,
  'data-step': decodeStep,
  'source-document': decodeSource,
  'source-url': decodeSource,
  'tool-input-start': (f) => decodeToolCall({ ...f, input: '' }, 'writing'),
  'tool-input-delta': (f) => ({
    type: 'tool-delta',
    id: text(f.toolCallId),
    delta: text(f.inputTextDelta),
  }),
  'tool-input-error': (f) => ({ type: 'tool-withdrawn', id: text(f.toolCallId) }),
  'tool-input-available': (f) => decodeToolCall(f, f.providerExecuted === false ? 'returned' : 'running'),
  'tool-output-available': (f) => decodeToolResult(f, text(f.output), ''),
  'tool-output-error': (f) => decodeToolResult(f, '', text(f.errorText)),
  'tool-output-denied': (f) => decodeToolResult(f, '', '', 'denied'),
  'data-tool-approval': ({ data }) => {
    const approval = fields(data)
    return {
      type: 'tool-approval',
      id: text(approval.tool_call_id),
      approval: approval as unknown as CallApproval,
    }
  },
  'text-delta': (f) => (typeof f.delta === 'string' ? { type: 'delta', delta: f.delta } : broken),
  'reasoning-start': (f) => ({ type: 'reasoning-start', elapsedMs: count(ours(f).elapsed_ms) ?? 0 }),
  'reasoning-delta': (f) =>
    typeof f.delta === 'string' ? { type: 'reasoning-delta', delta: f.delta } : ignored,
  'reasoning-end': (f) => ({ type: 'reasoning-end', durationMs: count(ours(f).duration_ms) }),
  'data-title': (f) => {
    const { title, updated_at } = fields(f.data)
    if (text(title) === '' || Number.isNaN(Date.parse(text(updated_at)))) return ignored
    return { type: 'title', title: { text: text(title), updatedAt: text(updated_at) } }
  },
  'data-citations': (f) => {
    const citations = decodeCitations(fields(f.data).citations)
    return citations === null ? ignored : { type: 'citations', citations }
  },
  'data-proofread-text': (f) => decodeProofreadText(f) ?? broken,
  'data-change': (f) => decodeChange(f) ?? ignored,
  'data-proofread': decodeProofread,
  'data-reset': (f) => {
    const run = count(fields(f.data).run)
    return run === null || run === 0 ? broken : { type: 'reset', run }
  },
  finish: (f) => ({
    type: 'finish',
    reason: text(f.finishReason) || 'stop',
    usage: decodeUsage(fields(f.messageMetadata).usage),
  }),
  abort: () => ({ type: 'abort' }),
  error: (f) => ({
    type: 'error',
    message: text(f.errorText),
    code: text(f.code),
    retryable: f.retryable !== false,
  }),
}

/** decodeExchange returns the ids of a question and its answer in an `Exchange`; null if it is malformed. */
export function decodeExchange(
  value: unknown,
): { messageId: string; userMessageId: string; threadId: string } | null {
  const exchange = fields(value)
  const answer = fields(exchange.answer)
  const messageId = text(answer.id)
  const userMessageId = text(fields(exchange.question).id)
  const threadId = text(answer.thread_id)
  return messageId && userMessageId && threadId ? { messageId, userMessageId, threadId } : null
}

function decodeStart(f: Fields): AnswerPart {
  const messageId = text(f.messageId)
  if (messageId === '') return broken
  const metadata = fields(f.messageMetadata)
  return {
    type: 'start',
    messageId,
    userMessageId: text(metadata.user_message_id) || null,
    threadId: text(metadata.thread_id) || null,
    run: count(metadata.run),
  }
}

/** ours returns the server's additions to a part of the AI SDK. */
function ours(f: Fields): Fields {
  return fields(fields(f.providerMetadata).tsumugi)
}

function decodeStep(f: Fields): AnswerPart {
  const data = fields(f.data)
  const kind = text(data.kind)
  const status = text(data.status)
  if (kind === '' || !isStepStatus(status)) return ignored
  const total = count(data.total) ?? 0
  const done = Math.min(count(data.done) ?? 0, total)
  return {
    type: 'step',
    step: { id: text(f.id) || kind, kind, status, detail: text(data.detail), done, total },
  }
}

function decodeSource(f: Fields): AnswerPart {
  const id = text(f.sourceId)
  if (id === '') return ignored
  const title = text(f.title)
  const place = ours(f)
  return {
    type: 'source',
    source: {
      id,
      index: count(place.index) ?? count(f.index) ?? 0,
      title,
      filename: text(f.filename) || title,
      mediaType: text(f.mediaType),
      // 0 means that the file has no pages.
      page: count(place.page) || count(f.page) || null,
      url: httpUrl(text(f.url)),
      site: text(place.site),
      publishedOn: text(place.published_on),
      dataSourceId: text(place.data_source_id),
      locator: text(place.locator),
    },
  }
}

/** decodeCitations decodes the citations of a stream or of a stored message; null for anything else. */
export function decodeCitations(value: unknown): AnswerCitation[] | null {
  return Array.isArray(value) ? value.flatMap((item) => decodeCitation(fields(item))) : null
}

function decodeToolCall(f: Fields, status: AnswerToolCall['status']): AnswerPart {
  const id = text(f.toolCallId)
  const name = text(f.toolName)
  if (id === '' || name === '') return ignored
  return {
    type: 'tool-call',
    call: {
      id,
      name,
      title: text(f.title) || name,
      arguments: typeof f.input === 'string' ? f.input : JSON.stringify(f.input ?? {}),
      offset: count(ours(f).offset) ?? 0,
      status,
      result: '',
      error: '',
      approval: null,
    },
  }
}

function decodeToolResult(
  f: Fields,
  result: string,
  error: string,
  status: AnswerToolCall['status'] = error === '' ? 'success' : 'failed',
): AnswerPart {
  const id = text(f.toolCallId)
  return id === '' ? ignored : { type: 'tool-result', id, result, error, status }
}

function decodeCitation(f: Fields): AnswerCitation[] {
  const index = count(f.index)
  const passageId = text(f.chunk_embedding_id)
  const filename = text(f.filename)
  if (!index || filename === '') return []
  const { support, weak_occurrences: weak } = f
  return [
    {
      index,
      passageId,
      dataSourceId: text(f.data_source_id),
      filename,
      page: count(f.page) ?? 0,
      locator: text(f.locator),
      score: typeof f.score === 'number' ? f.score : 0,
      quote: text(f.quote),
      support: support === 'strong' || support === 'weak' ? support : null,
      weakOccurrences: Array.isArray(weak) ? weak.filter((at) => typeof at === 'number') : null,
      deleted: f.deleted === true,
      url: httpUrl(text(f.url)),
      site: text(f.site),
      publishedOn: text(f.published_on),
    },
  ]
}

function decodeUsage(value: unknown): AnswerUsage | null {
  const usage = fields(value)
  const inputTokens = count(usage.input_tokens)
  const outputTokens = count(usage.output_tokens)
  if (inputTokens === null || outputTokens === null) return null
  return { inputTokens, outputTokens }
}

function isStepStatus(status: string): status is StepStatus {
  return status === 'pending' || status === 'running' || status === 'success' || status === 'failed'
}

/** httpUrl accepts only web URLs, because a source is shown as a link. */
export function httpUrl(value: string): string | null {
  return /^https?:\/\//i.test(value) ? value : null
}
