import { useSyncExternalStore } from 'react'
import type { Page } from './client'

/** The most items that one call answers. */
const MOST = 100

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
  #reading: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  /** The call of the refresh that runs: a page that was read during it would not fit what it brings. */
  #fetching: Promise<void> | null = null
  #again = false
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

  /**
   * Reads all that is at hand anew, up to the hundred that a call answers, without a sign of it: what is shown stays until
   * the answer has come, and also if none comes. A call made while another one runs is made up for after it. A list that
   * nobody has loaded yet stays so.
   */
  refresh = async (): Promise<void> => {
    if (!this.#state.loaded && this.#reading === null) return
    this.#again = true
    this.#refreshing ??= this.#refresh()
    await this.#refreshing
  }

  /** Something has just happened that an answer on its way may not know of: it is asked for once more. */
  outdate(): void {
    if (this.#reading !== null || this.#fetching !== null) void this.refresh()
  }

  /** Changes the items at hand, for what is known without asking the server. */
  update(change: (items: readonly T[]) => readonly T[]): void {
    this.#set({ items: change(this.#state.items) })
  }

  async #refresh(): Promise<void> {
    let passed = false
    while (this.#again) {
      if (this.#reading !== null) await this.#reading
      this.#again = false
      const limit = Math.min(Math.max(this.#state.items.length, this.#size), MOST)
      this.#fetching = this.#fetch({ offset: 0, limit }).then(
        (items) => {
          // What has happened meanwhile, and is shown, is not taken back. Once only: something may happen all the time.
          passed = this.#again && !passed
          if (!passed) this.#set({ items, error: null, mightHaveMore: items.length >= limit })
        },
        // What is shown may be old; the next sign from the server, or a reload, brings it up to date.
        () => {},
      )
      await this.#fetching
      this.#fetching = null
    }
    this.#refreshing = null
  }

  async #read(first: boolean): Promise<void> {
    if (this.#state.loading) return
    this.#set({ loading: true, error: null })
    this.#reading = this.#load(first).finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #load(first: boolean): Promise<void> {
    try {
      if (this.#fetching !== null) await this.#fetching
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
