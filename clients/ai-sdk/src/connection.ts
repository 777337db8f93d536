import { readProblem, TsumugiError } from './error.js'
import { readEvents, type ServerEvent } from './events.js'

/** Access is the address of a server and the credentials to use it. */
export interface Access {
  readonly server: string
  readonly token: (expired: boolean) => string | Promise<string>
  readonly fetch: typeof fetch
}

/** ConnectionRequest is the request for the next connection. */
export interface ConnectionRequest {
  readonly path: string
  readonly body: string | undefined
  readonly headers: HeadersInit | undefined
  readonly cursor: string | undefined
  /** Whether the server has accepted the question. Connection then retries without a time limit. */
  readonly accepted: boolean
}

/** A question that the server does not accept within this time fails. */
const acceptTimeoutMs = 20_000
/** The server sends a heartbeat every 15 s. A connection that is silent for longer than this is considered dead. */
const silenceMs = 40_000
const longestWaitMs = 10_000
/** Maximum number of consecutive internal errors for an accepted answer. */
const maxFaults = 6

/** call sends a request. If the token has expired, it gets a new one and retries once. */
export async function call(access: Access, path: string, init: RequestInit = {}): Promise<Response> {
  for (let expired = false; ; expired = true) {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await tokenOf(access, expired)}`)
    const response = await access.fetch(access.server + path, { ...init, headers, cache: 'no-store' })
    if (response.ok) return response
    const error = await readProblem(response)
    if (expired || error.message !== 'jwt expired') throw error
  }
}

async function tokenOf(access: Access, expired: boolean): Promise<string> {
  try {
    return await access.token(expired)
  } catch (cause) {
    if (cause instanceof TypeError) throw cause // A network failure: retried like any other.
    const message = 'ログインの有効期限が切れました。もう一度ログインしてください。'
    throw new TsumugiError(message, 'token_failed', false, null, { cause })
  }
}

/**
 * Connection reads one answer over consecutive connections. After one closes, it waits for the time that the server
 * requested and opens the next. The events end when the server reports that nothing is left (204), or with `signal`.
 */
export class Connection {
  #retryMs = 1800
  #failures = 0
  #attempt = new AbortController()

  constructor(
    private readonly access: Access,
    private readonly signal: AbortSignal,
    private readonly request: () => ConnectionRequest,
  ) {}

  /** Reports new data, which resets the failure count. */
  progress(): void {
    this.#failures = 0
  }

  /** Closes the current connection; the next one follows. */
  drop(): void {
    this.#attempt.abort()
  }

  async *events(): AsyncGenerator<ServerEvent> {
    for (const began = Date.now(); !this.signal.aborted; ) {
      const attempt = new AbortController()
      this.#attempt = attempt
      const silent = () => attempt.abort()
      let silence = setTimeout(silent, silenceMs)
      const onBytes = () => {
        clearTimeout(silence)
        silence = setTimeout(silent, silenceMs)
      }
      let waitMs = 0
      try {
        const body = await this.#open(AbortSignal.any([this.signal, attempt.signal]))
        if (body === null) return
        for await (const event of readEvents(body, onBytes)) {
          this.#retryMs = event.retry ?? this.#retryMs
          if (event.data !== '') yield event
          if (attempt.signal.aborted) break
        }
      } catch (error) {
        if (this.signal.aborted) return
        waitMs = this.#pardon(error, Date.now() - began)
      } finally {
        clearTimeout(silence)
        attempt.abort()
      }
      const backoffMs = this.#backoff()
      if (waitMs > 0) await this.#wait(waitMs, false)
      if (backoffMs > waitMs) await this.#wait(backoffMs - waitMs, true)
    }
  }

  /** Returns the body of the event stream, or null if nothing is left. */
  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
    const { path, body, headers, cursor } = this.request()
    const response = await call(this.access, path, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        accept: 'text/event-stream',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(cursor !== undefined && { 'last-event-id': cursor }),
      },
      signal,
    })
    if (response.status === 204) return null
    // A 200 response that is not an event stream comes from an intermediary, such as a captive portal.
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new TypeError('network: no event stream')
    return response.body
  }

  /** Returns the minimum wait after an error, in milliseconds. It throws errors that a retry cannot fix. */
  #pardon(error: unknown, elapsedMs: number): number {
    const { accepted } = this.request()
    const refused = error instanceof TsumugiError ? error : null
    const { status = 0, retryAfterMs = 0 } = refused?.refusal ?? {}
    const faulty = accepted && status >= 500 && this.#failures < maxFaults
    if (refused && !refused.retryable && !faulty) throw refused
    if (accepted || elapsedMs + retryAfterMs <= acceptTimeoutMs) return retryAfterMs
    const message = 'サーバーに接続できません。ネットワークを確認して、もう一度お試しください。'
    throw refused ?? new TsumugiError(message, 'network_unreachable', true, null, { cause: error })
  }

  /** The server randomizes `retry` per client, so the first wait uses it unchanged. Later waits double, with jitter. */
  #backoff(): number {
    const doubled = this.#retryMs * 2 ** Math.min(this.#failures, 10)
    return this.#failures++ === 0 ? doubled : Math.min(doubled, longestWaitMs) * (0.5 + Math.random() / 2)
  }

  /** Waits. The wait ends early when `signal` aborts and, with `untilOnline`, when the network returns. */
  #wait(ms: number, untilOnline: boolean): Promise<void> {
    return new Promise((resolve) => {
      const over = new AbortController()
      const finish = () => {
        clearTimeout(timer)
        over.abort()
        resolve()
      }
      const timer = setTimeout(finish, ms)
      if (untilOnline) globalThis.addEventListener?.('online', finish, { signal: over.signal })
      this.signal.addEventListener('abort', finish, { signal: over.signal })
      if (this.signal.aborted) finish()
    })
  }
}
