/** The part of the browser's `navigator.locks` that the app uses. */
export interface Locks {
  request<T>(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly steal?: boolean; readonly signal?: AbortSignal },
    run: (lock: object | null) => Promise<T>,
  ): Promise<T>
}

/** The part of a BroadcastChannel that the app uses, with the messages of the tabs. */
export interface TabChannel<News> {
  onmessage: ((event: { readonly data: News }) => void) | null
  postMessage(news: News): void
  close(): void
}

/** The browser's locks, shared by all tabs; null if unsupported (an old browser, or an insecure context). */
export function browserLocks(): Locks | null {
  return typeof navigator === 'undefined' || navigator.locks === undefined ? null : navigator.locks
}

/** newTabId returns an id for this tab that is unique in its browser. */
export function newTabId(): string {
  // crypto.randomUUID is missing in insecure contexts.
  return Math.random().toString(36).slice(2)
}

interface Held {
  /** Rejects the holder's request because another tab has stolen the lock. */
  readonly lose: (cause: unknown) => void
}

interface Waiting {
  readonly grant: () => void
}

/**
 * PageLocks are locks like the browser's, but for this page only: a fallback for browsers without locks, and a fake for
 * tests.
 */
export class PageLocks implements Locks {
  readonly #held = new Map<string, Held>()
  readonly #queues = new Map<string, Waiting[]>()

  async request<T>(
    name: string,
    options: { ifAvailable?: boolean; steal?: boolean; signal?: AbortSignal },
    run: (lock: object | null) => Promise<T>,
  ): Promise<T> {
    options.signal?.throwIfAborted()
    if (options.steal) {
      this.#held.get(name)?.lose(new DOMException('the lock was stolen', 'AbortError'))
      this.#held.delete(name)
    } else if (this.#held.has(name) || this.#queue(name).length > 0) {
      if (options.ifAvailable) return run(null)
      await this.#turn(name, options.signal)
    }
    return this.#hold(name, run)
  }

  #hold<T>(name: string, run: (lock: object) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const held: Held = { lose: reject }
      this.#held.set(name, held)
      const release = () => {
        if (this.#held.get(name) !== held) return
        this.#held.delete(name)
        this.#queue(name).shift()?.grant()
      }
      run({}).then(resolve, reject).finally(release)
    })
  }

  /** Waits in the queue. The lock counts as held from the moment it is granted. */
  #turn(name: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        grant: () => {
          this.#held.set(name, { lose: () => {} })
          signal?.removeEventListener('abort', leave)
          resolve()
        },
      }
      const leave = () => {
        const queue = this.#queue(name)
        queue.splice(queue.indexOf(waiting), 1)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#queue(name).push(waiting)
    })
  }

  #queue(name: string): Waiting[] {
    const queue = this.#queues.get(name) ?? []
    this.#queues.set(name, queue)
    return queue
  }
}
