import { atom, type createStore } from 'jotai'
import { ApiError } from '@/lib/api'
import type { DecisionLists } from '../proofread/review'

/** PendingDecisions are unsaved decisions. */
interface PendingDecisions {
  /** Null once the message has the decisions. */
  readonly decided: DecisionLists | null
  readonly state: 'saving' | 'retrying' | 'saved'
}

interface Events {
  /** The server has saved all decisions. */
  readonly onSaved: (messageId: string, decided: DecisionLists) => void
  /** The server refused the decisions. Its own state remains valid. */
  readonly onRefused: (messageId: string, decided: DecisionLists, cause: unknown) => void
}

/** Decisions within this time are saved together, in milliseconds. */
const gatherMs = 500
const maxBackoffMs = 15_000

/**
 * DecisionSaver saves decisions after a short delay, one call at a time, and retries while the server is unreachable.
 * Each call contains all decisions about a text, so that none is lost.
 */
export class DecisionSaver {
  readonly atom = atom<ReadonlyMap<string, PendingDecisions>>(new Map())
  readonly #saving = new Set<string>()
  /** Functions that end the delay before the next call. */
  readonly #hurry = new Map<string, () => void>()
  readonly #waiting = new Map<string, Array<(saved: boolean) => void>>()

  constructor(
    private readonly store: ReturnType<typeof createStore>,
    private readonly put: (messageId: string, decided: DecisionLists) => Promise<void>,
    private readonly events: Events,
  ) {}

  decide(messageId: string, decided: DecisionLists): void {
    const state = this.#get(messageId)?.state === 'retrying' ? 'retrying' : 'saving'
    this.#set(messageId, { decided, state })
    if (!this.#saving.has(messageId)) void this.#save(messageId)
  }

  /** Saves the decisions at once, and reports whether the server then has all of them. */
  flush(messageId: string): Promise<boolean> {
    if (!this.#saving.has(messageId)) return Promise.resolve(true)
    return new Promise((resolve) => {
      this.#waiting.set(messageId, [...(this.#waiting.get(messageId) ?? []), resolve])
      this.#hurry.get(messageId)?.()
    })
  }

  /** Saves all decisions at once, because the page is closing. */
  flushAll(): void {
    for (const hurry of [...this.#hurry.values()]) hurry()
  }

  async #save(messageId: string): Promise<void> {
    this.#saving.add(messageId)
    let failures = 0
    for (;;) {
      const backoff = Math.min(1000 * 2 ** (failures - 1), maxBackoffMs)
      await this.#wait(messageId, failures === 0 ? gatherMs : backoff)
      const decided = this.#get(messageId)?.decided
      if (!decided) break
      try {
        await this.put(messageId, decided)
        failures = 0
        if (this.#get(messageId)?.decided !== decided) continue
        this.events.onSaved(messageId, decided)
        this.#set(messageId, { decided: null, state: 'saved' })
        break
      } catch (cause) {
        if (!isPassing(cause)) {
          this.#set(messageId, null)
          this.events.onRefused(messageId, decided, cause)
          break
        }
        failures++
        this.#set(messageId, { decided: this.#get(messageId)?.decided ?? decided, state: 'retrying' })
        this.#settle(messageId, false)
      }
    }
    this.#saving.delete(messageId)
    this.#settle(messageId, this.#get(messageId)?.state === 'saved')
  }

  #wait(messageId: string, ms: number): Promise<void> {
    // A caller of flush is already waiting.
    if (this.#waiting.has(messageId)) return Promise.resolve()
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        this.#hurry.delete(messageId)
        resolve()
      }
      const timer = setTimeout(finish, ms)
      this.#hurry.set(messageId, finish)
    })
  }

  #settle(messageId: string, saved: boolean): void {
    const waiting = this.#waiting.get(messageId) ?? []
    this.#waiting.delete(messageId)
    for (const resolve of waiting) resolve(saved)
  }

  #get(messageId: string): PendingDecisions | undefined {
    return this.store.get(this.atom).get(messageId)
  }

  #set(messageId: string, pending: PendingDecisions | null): void {
    const next = new Map(this.store.get(this.atom))
    if (pending === null) next.delete(messageId)
    else next.set(messageId, pending)
    this.store.set(this.atom, next)
  }
}

function isPassing(cause: unknown): boolean {
  return cause instanceof ApiError && (cause.offline || cause.status === 429 || cause.status >= 500)
}
