import { useSyncExternalStore } from 'react'
import type { Page } from './api/client'

/** What a paged list holds at one moment. */
export interface PagedState<T> {
  readonly items: readonly T[]
  readonly loading: boolean
  readonly error: Error | null
  /** Whether the last page was full, so that there may be another one. */
  readonly mightHaveMore: boolean
  /** Whether a first load has ended, well or not. */
  readonly loaded: boolean
}

/**
 * A list that is read page by page. `load` starts anew with the first page; `loadMore` appends the next one. A call made
 * while another one runs is ignored. Items that moved between pages meanwhile are kept once.
 */
export class PagedList<T extends { id: string }> {
  readonly #fetch: (page: Page) => Promise<T[]>
  readonly #size: number
  readonly #listeners = new Set<() => void>()
  #state: PagedState<T> = { items: [], loading: false, error: null, mightHaveMore: true, loaded: false }

  constructor(size: number, fetch: (page: Page) => Promise<T[]>) {
    this.#size = size
    this.#fetch = fetch
  }

  /** The state now; a new object whenever something changed. */
  get state(): PagedState<T> {
    return this.#state
  }

  /** Calls `listener` after every change; the returned function stops it. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reads the first page. The items there are stay until it has come. */
  load = (): Promise<void> => this.#read(true)

  /** Reads the next page, if there may be one. */
  loadMore = async (): Promise<void> => {
    if (this.#state.mightHaveMore) await this.#read(false)
  }

  /** Changes the items at hand, for what is known without asking the server. */
  update(change: (items: readonly T[]) => readonly T[]): void {
    this.#set({ items: change(this.#state.items) })
  }

  async #read(first: boolean): Promise<void> {
    if (this.#state.loading) return
    this.#set({ loading: true, error: null })
    try {
      // The offset is what is at hand, not page times size: items that were added or removed here are so there too.
      const page = await this.#fetch({ offset: first ? 0 : this.#state.items.length, limit: this.#size })
      const items = first ? page : append(this.#state.items, page)
      this.#set({ items, loading: false, loaded: true, mightHaveMore: page.length >= this.#size })
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      this.#set({ loading: false, loaded: true, error })
    }
  }

  #set(change: Partial<PagedState<T>>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

function append<T extends { id: string }>(items: readonly T[], page: readonly T[]): readonly T[] {
  const known = new Set(items.map((item) => item.id))
  return [...items, ...page.filter((item) => !known.has(item.id))]
}

/** Renders with a paged list. */
export function usePagedList<T extends { id: string }>(list: PagedList<T>): PagedState<T> {
  return useSyncExternalStore(list.subscribe, () => list.state)
}
