import type { Locks, TabChannel } from '@/lib/browser/locks'
import type { WakeSource } from '../stream/wake'
import type { LiveEvents, LiveFrame, LiveType } from './frames'
import type { LiveSocket, SocketListener } from './socket'

/** The messages between tabs. */
export type TabNews =
  /** An event that the leader received from the server. */
  | { readonly kind: 'frame'; readonly frame: LiveFrame }
  /** A tab asks whether the leader is alive. */
  | { readonly kind: 'hello'; readonly from: string }
  /** The response, to one tab or to all: whether the connection is ready. */
  | { readonly kind: 'state'; readonly ready: boolean; readonly to?: string }

export type Channel = TabChannel<TabNews>

export interface LiveDeps {
  readonly connect: (listener: SocketListener) => Pick<LiveSocket, 'ready' | 'wake' | 'stop'>
  /** Null if unsupported. Every tab then has its own connection. */
  readonly locks: Locks | null
  readonly channel: ((name: string) => Channel) | null
  /** The signed-in user. Tabs of different users, as during a change of user, share nothing. */
  readonly user: () => string
  readonly wake: WakeSource
  readonly visible: () => boolean
  readonly random: () => number
  readonly newId: () => string
}

/** stopAll returns a function that calls all functions. */
export function stopAll(...stops: ReadonlyArray<() => void>): () => void {
  return () => {
    for (const stop of stops) stop()
  }
}

type Listeners = { readonly [Type in LiveType]: Set<(event: LiveEvents[Type]) => void> }

/** A leader that is silent for this time is considered frozen. A visible tab replaces it. */
const silenceMs = 5000
/** Reloads are batched, and spread over the tabs of a browser. */
const gatherMs = 100

/**
 * Live receives the server's events for this user in this tab. One tab of a browser is the leader: it has the
 * connection and forwards the events to the others. A lock elects the leader, so that another tab replaces it however
 * it terminates.
 */
export class Live {
  readonly #listeners: Listeners = {
    thread: new Set(),
    message: new Set(),
    notification: new Set(),
    data_source: new Set(),
    project: new Set(),
    tool_call: new Set(),
  }
  readonly #missed = new Set<() => void>()
  readonly #id: string
  #tab: Tab | null = null

  constructor(private readonly deps: LiveDeps) {
    this.#id = deps.newId()
  }

  /** Calls `listener` with every event of a type. The returned function stops it. */
  on<Type extends LiveType>(type: Type, listener: (event: LiveEvents[Type]) => void): () => void {
    this.#listeners[type].add(listener)
    return () => this.#listeners[type].delete(listener)
  }

  /**
   * Calls `listener` whenever events may have been missed, so that the shown data must be reloaded: soon after the
   * connection is ready, and in a hidden tab once it is visible.
   */
  onMissed(listener: () => void): () => void {
    this.#missed.add(listener)
    return () => this.#missed.delete(listener)
  }

  /** Joins the other tabs until the returned function is called. */
  start(): () => void {
    const tab = new Tab(this.#id, this.deps, {
      onFrame: (frame) => this.#tell(frame),
      onMissed: () => {
        for (const listener of this.#missed) listener()
      },
    })
    this.#tab?.stop()
    this.#tab = tab
    return () => tab.stop()
  }

  #tell<Type extends LiveType>(event: { readonly type: Type } & LiveEvents[Type]): void {
    // The leader may run a newer version of the app with additional event types.
    const listeners: Listeners[Type] | undefined = this.#listeners[event.type]
    for (const listener of listeners ?? []) listener(event)
  }
}

interface TabListener {
  readonly onFrame: (frame: Exclude<LiveFrame, { type: 'ready' }>) => void
  readonly onMissed: () => void
}

/** Tab is this tab's membership among those of the browser, from start to stop. */
class Tab {
  readonly #channel: Channel | null
  /** The name of the leader's lock and of the channel for its events. */
  readonly #name: string
  readonly #unsubscribe: () => void
  #line: Pick<LiveSocket, 'ready' | 'wake' | 'stop'> | null = null
  /** Whether the connection is ready, in this tab or in the leader. */
  #ready = false
  #stale = false
  #stopped = false
  #candidacy = new AbortController()
  #resign: () => void = () => {}
  #gathering: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly id: string,
    private readonly deps: LiveDeps,
    private readonly listener: TabListener,
  ) {
    const { locks, channel } = deps
    this.#name = `tsumugi-live-${deps.user()}`
    this.#channel = locks === null ? null : (channel?.(this.#name) ?? null)
    this.#unsubscribe = deps.wake((reason) => this.#wake(reason === 'restored'))
    if (locks === null || this.#channel === null) {
      this.#lead()
      return
    }
    this.#channel.onmessage = ({ data }) => this.#hear(data)
    this.#stand(locks, {})
    this.#ask(locks)
  }

  stop(): void {
    this.#stopped = true
    this.#unsubscribe()
    clearTimeout(this.#gathering)
    clearTimeout(this.#silence)
    this.#candidacy.abort()
    this.#follow()
    this.#channel?.close()
  }

  /** Waits for the lock, and leads until it stops or another tab steals the lock. */
  #stand(locks: Locks, options: { readonly steal?: boolean }): void {
    const candidacy = new AbortController()
    this.#candidacy.abort()
    this.#candidacy = candidacy
    // A request with `steal` does not wait, and accepts no signal.
    const how = options.steal ? options : { signal: candidacy.signal }
    locks
      .request(this.#name, how, () => {
        if (this.#stopped || candidacy.signal.aborted) return Promise.resolve()
        return new Promise<void>((resolve) => {
          this.#resign = resolve
          this.#lead()
        })
      })
      .catch((cause) => {
        if (this.#stopped || candidacy.signal.aborted) return
        this.#follow()
        if (cause instanceof DOMException && cause.name === 'AbortError') this.#stand(locks, {})
        // The lock was not stolen, but the browser refused it. Open a connection in this tab, as without locks.
        else this.#lead()
      })
  }

  #lead(): void {
    clearTimeout(this.#silence)
    this.#line = this.deps.connect({
      onFrame: (frame) => {
        this.#channel?.postMessage({ kind: 'frame', frame })
        this.#take(frame)
      },
      onState: (ready) => {
        this.#ready = ready
        this.#channel?.postMessage({ kind: 'state', ready })
      },
    })
  }

  #follow(): void {
    this.#line?.stop()
    this.#line = null
    this.#resign()
  }

  #hear(news: TabNews): void {
    if (this.#line !== null) {
      if (news.kind !== 'hello') return
      // Another tab has become visible. Check the connection as if it were this tab.
      this.#line.wake('visible')
      this.#channel?.postMessage({ kind: 'state', ready: this.#line.ready, to: news.from })
      return
    }
    if (news.kind === 'frame') this.#take(news.frame)
    if (news.kind !== 'state') return
    clearTimeout(this.#silence)
    if (news.to !== undefined && news.to !== this.id) return
    // From now on all events arrive. Data that was loaded before may be older.
    if (news.ready && !this.#ready) this.#miss()
    this.#ready = news.ready
  }

  #take(frame: LiveFrame): void {
    if (frame.type !== 'ready') {
      this.listener.onFrame(frame)
      return
    }
    this.#ready = true
    this.#miss()
  }

  #miss(): void {
    this.#stale = true
    this.#gather()
  }

  #gather(): void {
    if (!this.#stale || !this.deps.visible() || this.#gathering !== undefined) return
    this.#gathering = setTimeout(
      () => {
        this.#gathering = undefined
        this.#stale = false
        this.listener.onMissed()
      },
      gatherMs * (1 + this.deps.random()),
    )
  }

  #wake(restored: boolean): void {
    // Without a connection, reload when the tab is shown again. A page from the back-forward cache has missed events.
    if (restored || !this.#ready) this.#stale = true
    this.#gather()
    if (this.#line === null && this.deps.locks !== null) this.#ask(this.deps.locks)
  }

  /** Asks whether the leader is alive. A visible tab does not wait for a frozen leader. */
  #ask(locks: Locks): void {
    this.#channel?.postMessage({ kind: 'hello', from: this.id })
    clearTimeout(this.#silence)
    if (!this.deps.visible()) return
    this.#silence = setTimeout(() => {
      if (this.#line === null && this.deps.visible()) this.#stand(locks, { steal: true })
    }, silenceMs)
  }
}
