import type { Locks, TabChannel } from '@/lib/browser/locks'

/** Releases a slot. Calling it again does nothing. */
export type Release = () => void

/** The slots for answer streams, shared by all tabs of a browser. */
export interface Slots {
  /** Returns a slot if one is free and no tab is waiting for it. */
  tryTake(): Promise<Release | null>
  /** Waits for a slot, and asks tabs that can spare one. Null once `signal` is aborted. */
  take(signal: AbortSignal): Promise<Release | null>
  close(): void
}

/** The messages between tabs about slots. */
export type SlotNews =
  /** A visible tab is waiting for a slot. */
  | { readonly kind: 'want'; readonly from: string }
  /** The response of a tab that can spare a slot. */
  | { readonly kind: 'offer'; readonly from: string; readonly to: string }
  /** The offer is accepted: its slot must be released. */
  | { readonly kind: 'accept'; readonly from: string; readonly to: string }
  /** A slot has become free. */
  | { readonly kind: 'free' }

export type SlotChannel = TabChannel<SlotNews>

export interface SlotsDeps {
  readonly locks: Locks
  readonly channel: SlotChannel | null
  readonly id: string
  /** Whether a stream here can wait. */
  readonly spare: () => boolean
  /** Releases the slot of a stream that can wait. */
  readonly yield: () => void
  /** A slot has become free in any tab. */
  readonly onFree: () => void
}

/**
 * Browsers allow six connections to a host over HTTP/1.1, over all tabs. Streams take four of them, so that two are
 * left for other requests.
 */
const slotCount = 4

/** The interval at which a waiting tab tries again, because another tab may have been hidden or closed meanwhile. */
const askAgainMs = 2000

/** LockSlots uses browser locks as slots, so that a crashed tab releases its own. */
export class LockSlots implements Slots {
  #waiting = 0
  #asking: ReturnType<typeof setInterval> | undefined
  /** Whether an offer was accepted since the last request. One is enough for the first tab in the queue. */
  #answered = false

  constructor(private readonly deps: SlotsDeps) {
    if (deps.channel !== null) deps.channel.onmessage = ({ data }) => this.#hear(data)
  }

  async tryTake(): Promise<Release | null> {
    for (const name of names) {
      const release = await this.#request(name, { ifAvailable: true })
      if (release !== null) return release
    }
    return null
  }

  async take(signal: AbortSignal): Promise<Release | null> {
    if (signal.aborted) return null
    const won = new AbortController()
    const either = AbortSignal.any([signal, won.signal])
    this.#wait(1)
    try {
      return await new Promise<Release | null>((resolve) => {
        let open = names.length
        const settle = (release: Release | null) => {
          open--
          // Two were granted at the same moment: release the second.
          if (release !== null && won.signal.aborted) release()
          else if (release !== null) {
            won.abort()
            resolve(release)
          } else if (open === 0) resolve(null)
        }
        for (const name of names) void this.#request(name, { signal: either }).then(settle)
      })
    } finally {
      this.#wait(-1)
    }
  }

  close(): void {
    clearInterval(this.#asking)
    this.deps.channel?.close()
  }

  /** Resolves with the function that releases the lock once it is held, or with null if it is not available. */
  #request(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly signal?: AbortSignal },
  ): Promise<Release | null> {
    return new Promise((resolve) => {
      const hold = async (lock: object | null): Promise<boolean> => {
        if (lock === null) return false
        await new Promise<void>((release) => resolve(release))
        return true
      }
      this.deps.locks.request(name, options, hold).then(
        (held) => {
          if (held) this.#free()
          else resolve(null)
        },
        () => resolve(null),
      )
    })
  }

  #free(): void {
    this.deps.channel?.postMessage({ kind: 'free' })
    this.deps.onFree()
  }

  #wait(change: 1 | -1): void {
    this.#waiting += change
    clearInterval(this.#asking)
    if (this.#waiting === 0) return
    this.#ask()
    this.#asking = setInterval(() => this.#ask(), askAgainMs)
  }

  #ask(): void {
    this.#answered = false
    this.deps.channel?.postMessage({ kind: 'want', from: this.deps.id })
  }

  #hear(news: SlotNews): void {
    const { id, channel } = this.deps
    switch (news.kind) {
      case 'free':
        this.deps.onFree()
        break
      case 'want':
        if (this.deps.spare()) channel?.postMessage({ kind: 'offer', from: id, to: news.from })
        break
      case 'offer':
        if (news.to !== id || this.#answered || this.#waiting === 0) break
        this.#answered = true
        channel?.postMessage({ kind: 'accept', from: id, to: news.from })
        break
      case 'accept':
        if (news.to === id && this.deps.spare()) this.deps.yield()
    }
  }
}

const names = Array.from({ length: slotCount }, (_, at) => `tsumugi-stream-${at}`)
