import type { WakeReason, WakeSource } from '../stream/wake'
import { decodeFrame, type LiveFrame } from './frames'

/** The part of a WebSocket that is used. */
export interface Socket {
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number }) => void) | null
  send(data: string): void
  close(): void
}

/** What the outside world does for the socket; tests bring their own. */
export interface SocketDeps {
  readonly open: () => Socket
  /**
   * A token that is good for a while; `refused` is one that the server did not take. Rejects where none can be had now,
   * and answers null where nobody is signed in any more.
   */
  readonly token: (refused: string | null) => Promise<string | null>
  /** When a token ends, in milliseconds since the epoch. */
  readonly expiry: (token: string) => number
  readonly wake: WakeSource
  readonly now: () => number
  readonly random: () => number
}

export interface SocketListener {
  readonly onFrame: (frame: LiveFrame) => void
  /** Whether the server speaks; told whenever it changes. */
  readonly onState: (ready: boolean) => void
}

/** Close code of the server: not signed in, or not any more. */
const notSignedIn = 4401
/** The server must have said `ready` by then. */
const patienceMs = 15_000
/** How long before a token ends the next one is handed over. */
const earlyMs = 60_000
/** A tab that comes back does not trust a line on which nothing came for so long. */
const quietMs = 5 * 60_000
/** The clock is looked at so often, and jumps further than this when the machine has slept. Hidden tabs tick once a minute. */
const tickMs = 30_000
const jumpMs = 150_000

/**
 * The line over which the server tells what changes: opens it, signs in and stays signed in, and comes back whenever it
 * breaks. The server's pings are answered by the browser unseen, so a line that died in silence is found out when the
 * machine wakes, the network or the tab comes back.
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
  /** The one thing that is waited for: the next attempt, or an answer to this one. */
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

  /** Something came back: a line that waits tries at once, one that may be dead is replaced. */
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

  /** Hands the next token over. Where none can be had, the server closes the line in time, and that is mended as such. */
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
      // The first time a new token is the answer; that it is refused as well needs some patience.
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

  /** Lets go of the line, whatever state it is in; it has nothing more to say. */
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
