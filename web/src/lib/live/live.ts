import type { Locks } from '@/lib/browser/locks'
import type { WakeSource } from '../stream/wake'
import type { LiveEvents, LiveFrame, LiveType } from './frames'
import type { LiveSocket, SocketListener } from './socket'

/** What tabs tell each other. */
export type TabNews =
  /** What the server told the tab that leads. */
  | { readonly kind: 'frame'; readonly frame: LiveFrame }
  /** A tab asks the one that leads whether it is there. */
  | { readonly kind: 'hello'; readonly from: string }
  /** The answer, to one tab or to all: whether the server speaks. */
  | { readonly kind: 'state'; readonly ready: boolean; readonly to?: string }

/** The part of a BroadcastChannel that is used. */
export interface Channel {
  onmessage: ((event: { readonly data: TabNews }) => void) | null
  postMessage(news: TabNews): void
  close(): void
}

export interface LiveDeps {
  readonly connect: (listener: SocketListener) => Pick<LiveSocket, 'ready' | 'wake' | 'stop'>
  /** Null where the browser has none; then every tab has a line of its own. */
  readonly locks: Locks | null
  readonly channel: ((name: string) => Channel) | null
  /** Who is signed in: tabs of two people, as while one signs out and another in, share nothing. */
  readonly user: () => string
  readonly wake: WakeSource
  readonly visible: () => boolean
  readonly random: () => number
  readonly newId: () => string
}

type Listeners = { readonly [Type in LiveType]: Set<(event: LiveEvents[Type]) => void> }

/** A tab that leads and says nothing for so long is frozen: a tab that is looked at takes its place. */
const silenceMs = 5000
/** Refetching is gathered, and spread over the tabs of a browser. */
const gatherMs = 100

/**
 * What the server tells this user, in this tab. One tab of a browser leads: it has the line and passes on to the others
 * what comes over it. Which one is decided by a lock, so that another one takes over as soon as it goes, however it goes.
 */
export class Live {
  readonly #listeners: Listeners = {
    thread: new Set(),
    message: new Set(),
    notification: new Set(),
    data_source: new Set(),
  }
  readonly #missed = new Set<() => void>()
  readonly #id: string
  #tab: Tab | null = null

  constructor(private readonly deps: LiveDeps) {
    this.#id = deps.newId()
  }

  /** Calls `listener` with every event of a type; the returned function stops it. */
  on<Type extends LiveType>(type: Type, listener: (event: LiveEvents[Type]) => void): () => void {
    this.#listeners[type].add(listener)
    return () => this.#listeners[type].delete(listener)
  }

  /**
   * Calls `listener` whenever events may have been missed, so that what is shown has to be read again: soon after the line
   * has come up, and in a hidden tab once it is looked at.
   */
  onMissed(listener: () => void): () => void {
    this.#missed.add(listener)
    return () => this.#missed.delete(listener)
  }

  /** Takes part, until the returned function is called. */
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
    // A tab that leads may run a newer version of the app, which knows more types.
    const listeners: Listeners[Type] | undefined = this.#listeners[event.type]
    for (const listener of listeners ?? []) listener(event)
  }
}

interface TabListener {
  readonly onFrame: (frame: Exclude<LiveFrame, { type: 'ready' }>) => void
  readonly onMissed: () => void
}

/** This tab among those of the browser, from start to stop. */
class Tab {
  readonly #channel: Channel | null
  /** The name of the lock that the leading tab holds, and of the channel on which it passes on what it hears. */
  readonly #name: string
  readonly #unsubscribe: () => void
  #line: Pick<LiveSocket, 'ready' | 'wake' | 'stop'> | null = null
  /** Whether the server speaks, to this tab or to the one that leads. */
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

  /** Waits for its turn to lead, and leads until it stops or another tab takes the lock from it. */
  #stand(locks: Locks, options: { readonly steal?: boolean }): void {
    const candidacy = new AbortController()
    this.#candidacy.abort()
    this.#candidacy = candidacy
    // A request that steals does not wait, and takes no signal.
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
        // Not stolen, but refused by the browser: a line of one's own, as where there are no locks.
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
      // Another tab has just been looked at: as good a reason to look after the line as this one.
      this.#line.wake('visible')
      this.#channel?.postMessage({ kind: 'state', ready: this.#line.ready, to: news.from })
      return
    }
    if (news.kind === 'frame') this.#take(news.frame)
    if (news.kind !== 'state') return
    clearTimeout(this.#silence)
    if (news.to !== undefined && news.to !== this.id) return
    // From here on everything is heard; what was read before may be older.
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
    // Without a line, coming back is the moment to read anew; a page from the back-forward cache has heard nothing.
    if (restored || !this.#ready) this.#stale = true
    this.#gather()
    if (this.#line === null && this.deps.locks !== null) this.#ask(this.deps.locks)
  }

  /** Asks who leads whether it is there. A tab that is looked at does not wait for one that is frozen. */
  #ask(locks: Locks): void {
    this.#channel?.postMessage({ kind: 'hello', from: this.id })
    clearTimeout(this.#silence)
    if (!this.deps.visible()) return
    this.#silence = setTimeout(() => {
      if (this.#line === null && this.deps.visible()) this.#stand(locks, { steal: true })
    }, silenceMs)
  }
}
