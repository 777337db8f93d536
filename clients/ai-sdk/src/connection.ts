import { readProblem, TsumugiError } from './error.js'
import { readEvents, type ServerEvent } from './events.js'

/** How to reach a server as somebody. */
export interface Access {
  readonly server: string
  readonly token: (expired: boolean) => string | Promise<string>
  readonly fetch: typeof fetch
}

/** What a connection asks for, at this moment. */
export interface Wish {
  readonly path: string
  readonly body: string | undefined
  readonly headers: HeadersInit | undefined
  readonly cursor: string | undefined
  /** The server has the question: from here on it is not given up for a broken connection. */
  readonly accepted: boolean
}

/** A question that the server has not accepted by then is returned. */
const handOverMs = 20_000
/** The server sends a heartbeat every 15 s; a connection quiet for longer than this is dead. */
const silenceMs = 40_000
const longestWaitMs = 10_000
/** Consecutive internal errors, for an answer that the server has accepted. */
const mostFaults = 6

/** Makes a call; a token that has run out is replaced once. */
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
    if (cause instanceof TypeError) throw cause // The network is gone: tried again like everything else.
    const message = 'サインインの期限が切れました。もう一度サインインしてください。'
    throw new TsumugiError(message, 'token_failed', false, null, { cause })
  }
}

/**
 * The connections to one answer, one after the other: when one ends, the next is made, after the time that the server
 * has named. The events end when the server says that there is nothing more (204), or with `signal`.
 */
export class Connection {
  #retryMs = 1800
  #failures = 0
  #attempt = new AbortController()

  constructor(
    private readonly access: Access,
    private readonly signal: AbortSignal,
    private readonly wish: () => Wish,
  ) {}

  /** Something new has come: the next failure is the first one again. */
  progress(): void {
    this.#failures = 0
  }

  /** Gives the present connection up, for the next one. */
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
      await this.#wait(Math.max(this.#backoff(), waitMs))
    }
  }

  /** The body of an event stream, or null when there is nothing more. */
  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
    const { path, body, headers, cursor } = this.wish()
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
    // A 200 that is no event stream comes from something in between, such as a captive portal.
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new TypeError('network: no event stream')
    return response.body
  }

  /** How long to wait at least after this error; one that another try does not mend is thrown. */
  #pardon(error: unknown, elapsedMs: number): number {
    const { accepted } = this.wish()
    const refused = error instanceof TsumugiError ? error : null
    const { status = 0, retryAfterMs = 0 } = refused?.refusal ?? {}
    const faulty = accepted && status >= 500 && this.#failures < mostFaults
    if (refused && !refused.retryable && !faulty) throw refused
    if (accepted || elapsedMs + retryAfterMs <= handOverMs) return retryAfterMs
    const message = 'サーバーに接続できません。ネットワークを確認して、もう一度お試しください。'
    throw refused ?? new TsumugiError(message, 'network_unreachable', true, null, { cause: error })
  }

  /**
   * The server draws `retry` at random for each client, so the first wait is just that; later ones double, with jitter.
   */
  #backoff(): number {
    const doubled = this.#retryMs * 2 ** Math.min(this.#failures, 10)
    return this.#failures++ === 0 ? doubled : Math.min(doubled, longestWaitMs) * (0.5 + Math.random() / 2)
  }

  /** Waits; a network that comes back, or the end, cuts it short. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const over = new AbortController()
      const finish = () => {
        clearTimeout(timer)
        over.abort()
        resolve()
      }
      const timer = setTimeout(finish, ms)
      globalThis.addEventListener?.('online', finish, { signal: over.signal })
      this.signal.addEventListener('abort', finish, { signal: over.signal })
      if (this.signal.aborted) finish()
    })
  }
}
