import { fetchEventSource } from '@microsoft/fetch-event-source'
import { type Answer, cursorOf, emptyAnswer, receive, receiveExchange } from './answer'
import { backoff, defaultBackoff } from './backoff'
import { isWaiting, readProblem, StreamFailure, waitingCode } from './failure'
import { observeBytes } from './observe'
import type { WakeReason, WakeSource } from './wake'

/** The request: a question (the same body on every reconnect), with or without its answer, or an existing answer. */
export type StreamRequest =
  | { readonly kind: 'send'; readonly url: string; readonly body: string }
  | { readonly kind: 'handOver'; readonly url: string; readonly body: string }
  | { readonly kind: 'attach'; readonly url: string }

/** The environment of a connection; tests replace it. */
export interface ConnectionDeps {
  /** Authenticates the call, and renews an expired token. */
  readonly fetch: typeof fetch
  readonly wake: WakeSource
  readonly now: () => number
  readonly random: () => number
}

export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'closed'

/**
 * The final result of a connection. `gone`: nothing more to stream, the stored message is complete. `taken`: the server
 * has accepted the question, which was all that was requested.
 */
export type Ending =
  | { readonly kind: 'done' | 'gone' | 'taken' | 'closed' }
  | { readonly kind: 'failed'; readonly failure: StreamFailure }

export interface ConnectionListener {
  readonly onAnswer: (answer: Answer) => void
  /**
   * `busyUntil` is the time of the next attempt that an overloaded server requested, in milliseconds since the epoch.
   */
  readonly onState: (state: ConnectionState, busyUntil: number | null) => void
  readonly onEnd: (ending: Ending) => void
}

export const defaultPolicy = {
  backoff: defaultBackoff,
  /** The server sends at least a heartbeat every 15 s; a connection without data for this time is dead. */
  silenceMs: 40_000,
  /** When the tab is shown again, a connection that was silent for this time is replaced at once. */
  staleMs: 18_000,
  /** A question that the server has not accepted by then is returned to the user. */
  acceptTimeoutMs: 20_000,
  /** The number of consecutive protocol errors that counts as a failure. */
  maxResyncs: 3,
  /** The number of consecutive internal errors, for an accepted question, that counts as a failure. */
  maxFaults: 6,
}

export type ConnectionPolicy = Readonly<typeof defaultPolicy>

/**
 * The result of one attempt. `lost`: cut, silent, or closed by the server, so reconnect with the cursor. `woken`: a
 * wake-up, so reconnect at once.
 */
type Attempt =
  | { readonly kind: 'done' | 'gone' | 'taken' }
  | { readonly kind: 'resync' | 'lost' | 'woken' }
  | { readonly kind: 'refused'; readonly failure: StreamFailure }

const contentType = 'text/event-stream'
const passingStatuses = new Set([408, 425, 429, 502, 503, 504])

/**
 * Connection is the connection for one answer. It connects, resumes at the cursor after each failure, and ends with the
 * complete answer or with a reason. fetch-event-source parses the stream. Connection itself decides when to connect,
 * with which cursor, and when to stop, because the library's defaults (closing in hidden tabs, committing an id before
 * its data has arrived, repeating the call after every close) do not suit.
 */
export class Connection {
  #answer: Answer
  #state: ConnectionState = 'closed'
  #stopAttempt: ((attempt: Attempt) => void) | null = null
  #waiting: { finish: () => void; wakeable: boolean } | null = null
  #closed = false
  #lastByteAt = 0
  #retryMs: number | null = null
  #failures = 0
  #resyncs = 0
  /** The length of the text at the last protocol error. Progress is any text beyond it. */
  #nonsenseAt = -1
  #startedAt = 0

  constructor(
    private readonly request: StreamRequest,
    private readonly deps: ConnectionDeps,
    private readonly listener: ConnectionListener,
    answer: Answer = emptyAnswer,
    private readonly policy: ConnectionPolicy = defaultPolicy,
  ) {
    this.#answer = answer
  }

  get answer(): Answer {
    return this.#answer
  }

  /** Connects, and reconnects until the end, which it reports once. Call it once. */
  async run(): Promise<void> {
    this.#startedAt = this.deps.now()
    const unsubscribe = this.deps.wake((reason) => this.#wake(reason))
    try {
      const ending = await this.#loop()
      this.#enter('closed')
      this.listener.onEnd(ending)
    } finally {
      unsubscribe()
    }
  }

  /** Closes the connection without stopping the generation. */
  close(): void {
    this.#closed = true
    this.#stopAttempt?.({ kind: 'lost' })
    this.#waiting?.finish()
  }

  async #loop(): Promise<Ending> {
    while (!this.#closed) {
      this.#enter('connecting')
      const attempt = await this.#attempt()
      if (this.#closed) break
      const next = await this.#next(attempt)
      if (next !== null) return next
    }
    return { kind: 'closed' }
  }

  /** Decides what follows an attempt: a final result, or null for another attempt (after a delay). */
  async #next(attempt: Attempt): Promise<Ending | null> {
    switch (attempt.kind) {
      case 'done':
      case 'gone':
      case 'taken':
        return attempt
      case 'woken':
        return null
      case 'resync':
        return this.#afterNonsense()
      case 'lost':
        if (this.#handOverIsOver()) {
          return failed(new StreamFailure('network', 'network_unreachable', 0, ''))
        }
        await this.#wait(this.#backoff())
        return null
      case 'refused':
        return this.#afterRefusal(attempt.failure)
    }
  }

  /**
   * Starts over without a cursor: at once the first time, later with a delay, and at most a limited number of times.
   */
  async #afterNonsense(): Promise<Ending | null> {
    if (this.#answer.bytes > this.#nonsenseAt) this.#resyncs = 0
    this.#nonsenseAt = Math.max(this.#nonsenseAt, this.#answer.bytes)
    this.#resyncs++
    if (this.#resyncs > this.policy.maxResyncs) {
      return failed(new StreamFailure('protocol', 'stream_inconsistent', 0, ''))
    }
    if (this.#resyncs > 1) await this.#wait(this.#backoff())
    return null
  }

  async #afterRefusal(failure: StreamFailure): Promise<Ending | null> {
    const accepted = this.#accepted()
    const faulty = accepted && failure.status >= 500 && this.#failures < this.policy.maxFaults
    if (!passingStatuses.has(failure.status) && !faulty) return failed(failure)
    const asked = failure.detail.retryAfterMs ?? 0
    const delay = Math.max(this.#backoff(), asked)
    if (!accepted && this.#elapsed() + delay > this.policy.acceptTimeoutMs) return failed(failure)
    await this.#wait(delay, asked === 0)
    return null
  }

  #backoff(): number {
    this.#failures++
    return backoff(this.#failures, this.#retryMs, this.deps.random, this.policy.backoff)
  }

  /** Reports whether the server has accepted the question. From then on broken connections are always retried. */
  #accepted(): boolean {
    return this.request.kind === 'attach' || this.#answer.messageId !== null
  }

  #handOverIsOver(): boolean {
    return !this.#accepted() && this.#elapsed() >= this.policy.acceptTimeoutMs
  }

  #elapsed(): number {
    return this.deps.now() - this.#startedAt
  }

  #enter(state: ConnectionState, busyUntil: number | null = null): void {
    if (this.#state === state) return
    this.#state = state
    this.listener.onState(state, busyUntil)
  }

  /** Waits. Unless the server set the time, a wake-up ends the wait early. */
  #wait(ms: number, wakeable = true): Promise<void> {
    if (this.#closed) return Promise.resolve()
    this.#enter('waiting', wakeable ? null : this.deps.now() + ms)
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        this.#waiting = null
        resolve()
      }
      const timer = setTimeout(finish, ms)
      this.#waiting = { finish, wakeable }
    })
  }

  #wake(reason: WakeReason): void {
    if (this.#waiting !== null) {
      if (!this.#waiting.wakeable) return
      this.#failures = 0
      this.#waiting.finish()
      return
    }
    const quiet = this.deps.now() - this.#lastByteAt
    if (reason === 'visible' && quiet < this.policy.staleMs) return
    this.#stopAttempt?.({ kind: 'woken' })
  }

  /** Reads one connection from the call to its end. Never rejects. */
  #attempt(): Promise<Attempt> {
    return new Promise((resolve) => {
      const abort = new AbortController()
      let silence: ReturnType<typeof setTimeout> | undefined
      let settled = false
      const settle = (attempt: Attempt) => {
        if (settled) return
        settled = true
        clearTimeout(silence)
        this.#stopAttempt = null
        abort.abort()
        resolve(attempt)
      }
      this.#stopAttempt = settle
      const onBytes = () => {
        if (settled) return
        this.#lastByteAt = this.deps.now()
        clearTimeout(silence)
        silence = setTimeout(() => settle({ kind: 'lost' }), this.policy.silenceMs)
      }
      onBytes()
      fetchEventSource(this.request.url, {
        ...this.#call(),
        signal: abort.signal,
        openWhenHidden: true,
        fetch: observeBytes(this.deps.fetch, onBytes),
        onopen: async (response) => {
          const refusal = await this.#judge(response)
          if (refusal !== null) settle(refusal)
          else if (!settled) this.#enter('open')
        },
        onmessage: (message) => {
          if (settled) return
          if (message.retry !== undefined) this.#retryMs = message.retry
          this.#take(message, settle)
        },
        onclose: () => settle({ kind: 'lost' }),
        onerror: (error: unknown) => {
          settle({ kind: 'lost' })
          throw error
        },
      }).catch(() => settle({ kind: 'lost' }))
    })
  }

  #call(): RequestInit & { headers: Record<string, string> } {
    const headers: Record<string, string> = {}
    const cursor = cursorOf(this.#answer)
    if (cursor !== null) headers['last-event-id'] = cursor
    if (this.request.kind === 'attach') return { method: 'GET', headers, cache: 'no-store' }
    if (this.request.kind === 'handOver') headers.accept = 'application/json'
    headers['content-type'] = 'application/json'
    return { method: 'POST', headers, body: this.request.body, cache: 'no-store' }
  }

  /** Returns null if the response is an answer stream. */
  async #judge(response: Response): Promise<Attempt | null> {
    if (response.status === 204) return { kind: 'gone' }
    if (!response.ok) {
      return { kind: 'refused', failure: await readProblem(response, this.deps.now()) }
    }
    if (response.status === 202) {
      const accepted: unknown = await response.json()
      if (isWaiting(accepted))
        return { kind: 'refused', failure: new StreamFailure('problem', waitingCode, 202, '') }
      return this.#taken(accepted)
    }
    const type = response.headers.get('content-type') ?? ''
    // A 200 response that is not an event stream comes from an intermediary, such as a captive portal.
    if (!type.startsWith(contentType)) return { kind: 'lost' }
    return null
  }

  #taken(exchange: unknown): Attempt {
    const answer = receiveExchange(this.#answer, exchange)
    if (answer === null) return { kind: 'lost' }
    this.#answer = answer
    this.listener.onAnswer(answer)
    return { kind: 'taken' }
  }

  #take(frame: { id: string; data: string }, settle: (attempt: Attempt) => void): void {
    const { answer, verdict } = receive(this.#answer, frame)
    if (answer !== this.#answer) {
      if (answer.bytes > this.#answer.bytes) this.#failures = 0
      this.#answer = answer
      this.listener.onAnswer(answer)
    }
    if (verdict === 'done') settle({ kind: 'done' })
    else if (verdict === 'resync') settle({ kind: 'resync' })
  }
}

function failed(failure: StreamFailure): Ending {
  return { kind: 'failed', failure }
}
