import type { MessageList } from '@/lib/api'
import {
  browserWake,
  Connection,
  type ConnectionState,
  decodeCitations,
  defaultPolicy,
  type Ending,
  emptyAnswer,
  type StreamFailure,
} from '@/lib/stream'
import { shorten } from '@/lib/ui/shorten'
import { cut, maxSelection, maxTitle } from '../lib/limits'
import type { Project } from '../lib/projects'
import { readJSON, SignedOut, sessionFetch } from '../lib/session'
import { addressOf, type StoredConversation, storeConversation, type Turn } from '../lib/storedConversations'
import { count, t } from '../lib/texts'

/** Material is the first question about a page, with its text. */
export interface Material {
  readonly kind: 'summary' | 'explanation' | 'question'
  readonly url: string
  readonly title: string
  /** The text to send, cut to the server's limit. */
  readonly text: string
  /** The number of characters beyond the server's limit. */
  readonly left: number
  /** The number of characters outside the article and the comments, which are not sent. */
  readonly omitted: number
  readonly selection: string
  readonly question: string
}

const path = '/external/chrome_extension/v1/chat/completion/stream'

/** The kinds of first questions in the API. */
const kinds: Readonly<Record<Material['kind'], string>> = {
  explanation: 'chrome_extension_easy_explain',
  summary: 'chrome_extension_page_whole_summary',
  question: 'chrome_extension_page_whole_summary_follow_up',
}

/** The interval for storing a growing answer, in milliseconds. The cursor recovers the rest. */
const keepEvery = 250

/**
 * Conversation is a conversation about a page. The panel reads its answers and stores them in the browser, so that a
 * reopened panel resumes at the character. Listeners are called after every change.
 */
export class Conversation {
  #stored: StoredConversation
  readonly #lines = new Map<string, { connection: Connection; state: ConnectionState }>()
  readonly #listeners = new Set<() => void>()
  #keeping: ReturnType<typeof setTimeout> | undefined
  #closed = false
  /** Called when the server ends or refuses the session. */
  onSignedOut: (cause: SignedOut) => void = () => {}

  constructor(stored: StoredConversation) {
    this.#stored = stored
    this.resume()
  }

  /** Creates an empty conversation about a page in a tab. */
  static begin(tabId: number, { url, title, kind }: Material, project: Project | null): Conversation {
    return new Conversation({
      tabId,
      url: addressOf(url),
      title,
      kind: kind === 'explanation' ? 'selection' : 'page',
      project,
      threadId: null,
      turns: [],
      touchedAt: Date.now(),
    })
  }

  get stored(): StoredConversation {
    return this.#stored
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  snapshot = (): StoredConversation => this.#stored

  get writing(): boolean {
    return this.#stored.turns.some((turn) => !isOver(turn))
  }

  /** lineOf returns the state of an answer's connection; null after its end. */
  lineOf(key: string): ConnectionState | null {
    return this.#lines.get(key)?.state ?? null
  }

  /** Connects the unfinished answers that lost their connection after a sign-out. */
  resume(): void {
    if (this.#closed) return
    for (const turn of this.#stored.turns)
      if (!isOver(turn) && !this.#lines.has(turn.key)) this.#connect(turn)
  }

  /** Asks the first question of a thread. */
  start(material: Material): void {
    const explains = material.kind === 'explanation'
    const body = {
      request_id: crypto.randomUUID(),
      kind: kinds[material.kind],
      page: {
        url: material.url,
        title: cut(material.title, maxTitle).text,
        ...(!explains && { text: material.text, truncated_characters: material.left }),
      },
      ...(material.selection !== '' && { selection: cut(material.selection, maxSelection).text }),
      ...(material.kind === 'question' && { messages: [{ role: 'user', content: material.question }] }),
      ...(this.#stored.project && { project_id: this.#stored.project.id }),
    }
    const characters = [...(explains ? material.selection : material.text)].length
    const question = explains
      ? `「${short(material.selection)}」`
      : material.kind === 'summary'
        ? t('summarize')
        : material.question
    this.#ask(body.request_id, question, body, { characters, left: material.left + material.omitted })
  }

  /** Asks another question in the thread. */
  followUp(question: string): void {
    const id = crypto.randomUUID()
    const kind =
      this.#stored.kind === 'selection'
        ? 'chrome_extension_easy_explanation_follow_up'
        : 'chrome_extension_page_whole_summary_follow_up'
    const messages = [{ role: 'user', content: question }]
    this.#ask(id, question, { request_id: id, kind, thread_id: this.#stored.threadId, messages }, null)
  }

  #ask(key: string, question: string, body: unknown, sent: Turn['sent'], url = path): void {
    const turn: Turn = {
      key,
      question,
      sent,
      asked: { url, body: JSON.stringify(body) },
      answer: emptyAnswer,
      failure: null,
      rating: null,
    }
    this.#change({ turns: [...this.#stored.turns, turn] })
    this.#keepNow()
    this.#connect(turn)
  }

  /** Regenerates an answer and replaces it. An answer that could not be read is read again. */
  regenerate(turn: Turn): void {
    const { messageId } = turn.answer
    if (turn.unread || messageId === null || this.#stored.threadId === null) {
      this.retry(turn)
      return
    }
    const id = crypto.randomUUID()
    this.#change({ turns: this.#stored.turns.filter((other) => other.key !== turn.key) })
    const body = { request_id: id, thread_id: this.#stored.threadId, regenerate: messageId }
    this.#ask(id, turn.question, body, turn.sent, '/v1/message/stream')
  }

  /** Sends a refused question again, and accepts the tokens that it was refused for. */
  retry(turn: Turn): void {
    const { asked, tokensToAccept } = turn
    const accepted = asked !== null &&
      tokensToAccept !== undefined && {
        asked: {
          ...asked,
          body: JSON.stringify({ ...JSON.parse(asked.body), accept_tokens: tokensToAccept }),
        },
      }
    const answer = turn.unread ? turn.answer : emptyAnswer
    const reset = { failure: null, tokensToAccept: undefined, unread: undefined, answer }
    const next = { ...turn, ...accepted, ...reset }
    this.#replace(next)
    this.#connect(next)
  }

  async stop(): Promise<void> {
    const turn = this.#stored.turns.find((other) => !isOver(other))
    if (turn === undefined) return
    const { messageId } = turn.answer
    if (messageId === null) {
      // The server may have accepted it; the repeated request finds out.
      this.#lines.get(turn.key)?.connection.close()
      this.#over(turn.key, t('stopped'))
      return
    }
    await this.#call(`/v1/message/${messageId}/stop`, 'POST')
  }

  /** Rates an answer, or withdraws the rating. */
  async rate(turn: Turn, rating: 'good' | 'bad'): Promise<void> {
    const { messageId } = turn.answer
    if (messageId === null) return
    const next = turn.rating === rating ? null : rating
    if (next === null) await this.#call(`/v1/message_feedback/${messageId}`, 'DELETE')
    else await this.#call('/v1/message_feedback', 'POST', { message_id: messageId, rating: next })
    this.#replace({ ...this.#turn(turn.key), rating: next })
  }

  /** Closes the connections. The server continues the answers. */
  close(): void {
    this.#closed = true
    for (const { connection } of this.#lines.values()) connection.close()
    this.#lines.clear()
    this.#keepNow()
  }

  async #call(url: string, method: string, body?: unknown): Promise<void> {
    const response = await sessionFetch(url, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    })
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status}`)
  }

  #connect(turn: Turn): void {
    const { messageId } = turn.answer
    const request =
      turn.asked !== null
        ? ({ kind: 'send', ...turn.asked } as const)
        : ({ kind: 'attach', url: `/v1/message/${messageId}/stream` } as const)
    const connection: Connection = new Connection(
      request,
      { fetch: this.#fetch, wake: browserWake, now: () => Date.now(), random: Math.random },
      {
        onAnswer: (answer) => {
          if (this.#closed) return
          const taken = answer.messageId !== null
          const threadId = answer.threadId ?? this.#stored.threadId
          if (threadId !== this.#stored.threadId) this.#change({ threadId })
          const before = this.#turn(turn.key)
          this.#replace({ ...before, answer, asked: taken ? null : before.asked })
          // The text of the page is stored only as long as it is needed.
          if (taken && before.asked !== null) this.#keepNow()
          else this.#keepSoon()
        },
        onState: (state) => {
          const line = this.#lines.get(turn.key)
          if (line !== undefined) line.state = state
          this.#change({}) // A new snapshot, because the connection's state is not part of a turn.
        },
        onEnd: (ending) => void this.#ended(turn.key, ending),
      },
      turn.answer,
      defaultPolicy,
    )
    this.#lines.set(turn.key, { connection, state: 'connecting' })
    void connection.run()
  }

  /** Closes the connections after a sign-out. `resume` connects them after the next sign-in. */
  readonly #fetch: typeof fetch = async (input, init) => {
    try {
      return await sessionFetch(input, init)
    } catch (cause) {
      if (!(cause instanceof SignedOut)) throw cause
      for (const { connection } of this.#lines.values()) connection.close()
      this.#lines.clear()
      this.onSignedOut(cause)
      throw cause
    }
  }

  async #ended(key: string, ending: Ending): Promise<void> {
    if (this.#closed || ending.kind === 'closed') return
    this.#lines.delete(key)
    if (ending.kind === 'failed') {
      this.#over(key, describe(ending.failure), ending.failure.detail.estimatedTokens)
      return
    }
    if (ending.kind === 'gone') {
      try {
        await this.#load(key)
      } catch (cause) {
        if (this.#closed || cause instanceof SignedOut) return
        this.#replace({ ...this.#turn(key), unread: true })
        this.#over(key, t('unread'))
        return
      }
    }
    // Closing has stored the conversation, or it is deleted.
    if (this.#closed) return
    const turn = this.#turn(key)
    this.#replace({ ...turn, asked: null, answer: { ...turn.answer, done: true } })
    this.#keepNow()
  }

  /** Loads the stored message of an answer that ended before the request. It throws if the request fails. */
  async #load(key: string): Promise<void> {
    const turn = this.#turn(key)
    const { messageId, threadId } = turn.answer
    const url = `/v1/message?thread_id=${threadId}&limit=100`
    const { items } = await readJSON<MessageList>(url, this.#fetch)
    const stored = items.find(({ id }) => id === messageId)
    if (stored === undefined) return
    const outcome =
      stored.status === 'failed'
        ? { kind: 'failed' as const, message: stored.error?.detail ?? '', code: '', retryable: true }
        : stored.finish_reason === 'stopped'
          ? { kind: 'stopped' as const }
          : { kind: 'finished' as const, reason: stored.finish_reason ?? 'stop', usage: null }
    const citations = decodeCitations(stored.citations)
    const toolCalls = turn.answer.toolCalls.map((call) => ({
      ...call,
      approval: stored.tool_calls?.find(({ id }) => id === call.id)?.approval ?? call.approval,
    }))
    this.#replace({
      ...turn,
      answer: { ...turn.answer, text: stored.content, citations, toolCalls, outcome },
    })
  }

  #over(key: string, failure: string, tokensToAccept?: number): void {
    this.#lines.delete(key)
    this.#replace({ ...this.#turn(key), failure, tokensToAccept })
    this.#keepNow()
  }

  #turn(key: string): Turn {
    const turn = this.#stored.turns.find((other) => other.key === key)
    if (turn === undefined) throw new Error(`no turn ${key}`)
    return turn
  }

  #replace(turn: Turn): void {
    this.#change({ turns: this.#stored.turns.map((other) => (other.key === turn.key ? turn : other)) })
  }

  #change(change: Partial<StoredConversation>): void {
    this.#stored = { ...this.#stored, ...change, touchedAt: Date.now() }
    for (const listener of this.#listeners) listener()
  }

  #keepSoon(): void {
    this.#keeping ??= setTimeout(() => this.#keepNow(), keepEvery)
  }

  #keepNow(): void {
    clearTimeout(this.#keeping)
    this.#keeping = undefined
    if (this.#stored.turns.length > 0) void storeConversation(this.#stored)
  }
}

/** isOver reports whether an answer has ended. */
export function isOver(turn: Turn): boolean {
  return turn.answer.done || turn.failure !== null
}

function describe(failure: StreamFailure): string {
  if (failure.kind === 'network') return t('offlineNote')
  const { retryAfterMs: wait, estimatedTokens } = failure.detail
  if (estimatedTokens !== undefined) return t('costly', count(Math.round(estimatedTokens / 10_000) * 10_000))
  if (failure.status === 429 && wait !== undefined) return t('limited', Math.max(1, Math.ceil(wait / 1000)))
  return failure.detail.errors?.[0]?.message || failure.message || t('failed')
}

function short(text: string): string {
  return shorten(text.replace(/\s+/g, ' ').trim(), 80)
}
