import type { WakeReason, WakeSource } from '../stream/wake'
import { decodeFrame, type LiveFrame } from './frames'

/** The part of a WebSocket that the app uses. */
export interface Socket {
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number }) => void) | null
  send(data: string): void
  close(): void
}

/** The environment of the socket; tests replace it. */
interface SocketDeps {
  readonly open: () => Socket
  /**
   * Returns a token that is valid for a while. `refused` is one that the server rejected. It rejects if none is
   * available now, and resolves to null if no user is signed in any more.
   */
  readonly token: (refused: string | null) => Promise<string | null>
  /** Returns the expiry of a token, in milliseconds since the epoch. */
  readonly expiry: (token: string) => number
  readonly wake: WakeSource
  readonly now: () => number
  readonly random: () => number
}

export interface SocketListener {
  readonly onFrame: (frame: LiveFrame) => void
  /** Called whenever the connection becomes ready or is lost. */
  readonly onState: (ready: boolean) => void
}

/** The server's close code for a missing or ended session. */
const notSignedIn = 4401
/** The server must send `ready` within this time. */
const patienceMs = 15_000
/** The next token is sent this long before the current one expires. */
const earlyMs = 60_000
/** When a tab is shown again, a connection that was silent for this time is considered dead. */
const quietMs = 5 * 60_000
/**
 * The interval of checks of the clock. A jump beyond the limit means that the machine has slept. Hidden tabs
 * tick once a minute.
 */
const tickMs = 30_000
const jumpMs = 150_000

/**
 * LiveSocket is the connection for the server's events. It connects, authenticates, renews the token, and reconnects
 * after each failure. The browser answers the server's pings invisibly, so LiveSocket detects a silently dead
 * connection only when the machine wakes up, or when the network or the tab returns.
 */
export class LiveSocket {
  #socket: Socket | null = null
  #token = ''
  #refused: string | null = null
  #refusals = 0
  #failures = 0
  #ready = false
  #stopped = false
  #heardAt = 0
  #tickedAt = 0
  /** The single pending timer: for the next attempt, or for the response to this one. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #renewal: ReturnType<typeof setTimeout> | undefined
  #waiting = false
  readonly #clock: ReturnType<typeof setInterval>
  readonly #unsubscribe: () => void

  constructor(
    private readonly deps: SocketDeps,
    private readonly listener: SocketListener,
  ) {
    this.#tickedAt = deps.now()
    this.#clock = setInterval(() => this.#tick(), tickMs)
    this.#unsubscribe = deps.wake((reason) => this.wake(reason))
    void this.#connect()
  }

  get ready(): boolean {
    return this.#ready
  }

  stop(): void {
    this.#stopped = true
    this.#unsubscribe()
    clearInterval(this.#clock)
    this.#drop()
  }

  /** Handles a wake-up: it retries a waiting connection at once, and replaces one that may be dead. */
  wake(reason: WakeReason): void {
    const quiet = this.deps.now() - this.#heardAt > quietMs
    const doubtful = this.#ready && (reason !== 'visible' || quiet)
    if (this.#waiting || doubtful) void this.#connect()
  }

  async #connect(): Promise<void> {
    this.#drop()
    this.#waiting = false
    let token: string | null
    const attempt = setTimeout(() => this.#lost(0), patienceMs)
    this.#timer = attempt
    const current = () => !this.#stopped && this.#timer === attempt
    try {
      token = await this.deps.token(this.#refused)
    } catch {
      if (current()) this.#lost(0)
      return
    }
    if (!current()) return
    if (token === null) {
      this.stop()
      return
    }
    this.#refused = null
    this.#open(token)
  }

  #open(token: string): void {
    const socket = this.deps.open()
    this.#socket = socket
    socket.onopen = () => this.#signIn(token)
    socket.onmessage = ({ data }) => {
      this.#heardAt = this.deps.now()
      const frame = decodeFrame(data)
      if (frame?.type === 'ready') this.#welcome()
      if (frame !== null) this.listener.onFrame(frame)
    }
    socket.onclose = ({ code }) => this.#lost(code)
  }

  #signIn(token: string): void {
    this.#token = token
    this.#socket?.send(JSON.stringify({ type: 'auth', token }))
    clearTimeout(this.#renewal)
    const left = this.deps.expiry(token) - earlyMs - this.deps.now()
    this.#renewal = setTimeout(() => void this.#renew(), Math.max(left, tickMs))
  }

  /** Sends the next token. If none is available, the server later closes the connection, which leads to a reconnect. */
  async #renew(): Promise<void> {
    const socket = this.#socket
    const token = await this.deps.token(null).catch(() => null)
    if (token !== null && socket !== null && socket === this.#socket) this.#signIn(token)
  }

  #welcome(): void {
    clearTimeout(this.#timer)
    this.#failures = 0
    this.#refusals = 0
    this.#set(true)
  }

  #lost(code: number): void {
    if (this.#stopped) return
    this.#drop()
    if (code === notSignedIn) {
      this.#refused = this.#token
      // After the first refusal, a new token is sent at once. After further ones, retries are delayed.
      if (++this.#refusals === 1) return void this.#connect()
    }
    const spread = Math.min(4000 * 2 ** Math.min(this.#failures++, 8), 29_000)
    this.#waiting = true
    this.#timer = setTimeout(() => void this.#connect(), 1000 + Math.round(spread * this.deps.random()))
  }

  #tick(): void {
    const now = this.deps.now()
    if (now - this.#tickedAt > jumpMs) this.wake('online')
    this.#tickedAt = now
  }

  /** Drops the connection in any state, and ignores its further events. */
  #drop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#renewal)
    this.#waiting = false
    const socket = this.#socket
    this.#socket = null
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null
      socket.close()
    }
    this.#set(false)
  }

  #set(ready: boolean): void {
    if (this.#ready === ready) return
    this.#ready = ready
    this.listener.onState(ready)
  }
}
