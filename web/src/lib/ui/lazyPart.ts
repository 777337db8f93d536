import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { toastFailure } from './toast'

/** A chunk of the app that is loaded when it is first needed, and available synchronously afterwards. */
export class LazyPart<T> {
  readonly #import: () => Promise<T>
  readonly #listeners = new Set<() => void>()
  #loading: Promise<void> | null = null
  #value: T | null = null

  constructor(load: () => Promise<T>) {
    this.#import = load
  }

  /** Loads the chunk once. The next call retries a failed load. */
  load(): Promise<void> {
    this.#loading ??= this.#import().then(
      async (value) => {
        // Waiting components render in a separate task, because together with the chunk's initialization they would
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
}

/** useLazyPart returns the chunk if it is loaded; otherwise null. It loads the chunk if needed. */
export function useLazyPart<T>(part: LazyPart<T>, needed: boolean): T | null {
  const snapshot = () => part.value
  const value = useSyncExternalStore(part.subscribe, snapshot, snapshot)
  useEffect(() => {
    // The text is readable without it; the next use retries.
    if (needed && value === null) part.load().catch(() => {})
  }, [part, needed, value])
  return needed ? value : null
}

/**
 * useLazyDialog returns the component of a dialog if it is open and loaded; otherwise null. If the dialog cannot be
 * loaded, it calls onClose and shows a message.
 */
export function useLazyDialog<T>(part: LazyPart<T>, open: boolean, onClose: () => void): T | null {
  const onFailure = useEffectEvent(() => {
    toastFailure('読み込みに失敗しました')
    onClose()
  })
  useEffect(() => {
    if (open) part.load().catch(onFailure)
  }, [part, open])
  return useLazyPart(part, open)
}
