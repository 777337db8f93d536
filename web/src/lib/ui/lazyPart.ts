import { useEffect, useSyncExternalStore } from 'react'

/** A chunk of the app that is loaded when it is first needed, and available synchronously afterwards. */
export class LazyPart<T> {
  readonly #import: () => Promise<T>
  readonly #listeners = new Set<() => void>()
  #loading: Promise<void> | null = null
  #value: T | null = null

  constructor(load: () => Promise<T>) {
    this.#import = load
  }

  /** Loads it once. A failed load is retried by the next call. */
  load(): Promise<void> {
    this.#loading ??= this.#import().then(
      async (value) => {
        // Waiting components are rendered in a task of their own: together with the chunk's initialization it would
        // delay a frame.
        await new Promise((next) => setTimeout(next))
        this.#value = value
        for (const listener of this.#listeners) listener()
      },
      (cause) => {
        this.#loading = null
        throw cause
      },
    )
    return this.#loading
  }

  get value(): T | null {
    return this.#value
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  snapshot = (): T | null => this.#value
}

/** The chunk if it is loaded; otherwise null, and it is loaded if needed. */
export function useLazyPart<T>(part: LazyPart<T>, needed: boolean): T | null {
  const value = useSyncExternalStore(part.subscribe, part.snapshot, part.snapshot)
  useEffect(() => {
    // Without it the text is readable as it is; the next use retries.
    if (needed && value === null) part.load().catch(() => {})
  }, [part, needed, value])
  return needed ? value : null
}
