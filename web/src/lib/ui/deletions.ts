import { atom, useAtomValue } from 'jotai'
import { useMemo } from 'react'
import { removeAll } from '@/lib/api/removeAll'
import { store } from './store'
import { dismissToast, offerUndo, toastFailure, UNDO_MS } from './toast'

/** Deletable is a kind of item that can be deleted. */
interface Deletable {
  /** Deletes an item on the server. */
  readonly remove: (id: string) => Promise<unknown>
  /** Called after deletion on the server, to remove the item from the lists. */
  readonly onGone: (ids: readonly string[]) => void
  readonly texts: { readonly deleted: (count: number) => string; readonly failed: string }
}

interface Deletion {
  /** The items that are not sent to the server yet. */
  readonly ids: Set<string>
  readonly timer: ReturnType<typeof setTimeout>
  /** The id of the toast with the undo button. */
  readonly toast: number
}

/**
 * Deletions deletes items with undo. An item is hidden at once, and deleted on the server when the time to undo expires
 * or the page closes. If that fails, the item is shown again.
 */
export class Deletions {
  readonly #what: Deletable
  readonly #pending = new Set<Deletion>()
  readonly #hidden = atom<ReadonlySet<string>>(new Set<string>())

  constructor(what: Deletable) {
    this.#what = what
  }

  /** Whether an item is pending deletion. */
  has(id: string): boolean {
    return store.get(this.#hidden).has(id)
  }

  /**
   * Deletes items after the time to undo. `onRestore` is called on undo, so that the app can return to the item's page.
   */
  delete(ids: readonly string[], onRestore?: () => void): void {
    const wanted = ids.filter((id) => !this.has(id))
    if (wanted.length === 0) return
    const undo = () => {
      for (const id of wanted) this.callOff(id)
      onRestore?.()
    }
    const deletion: Deletion = {
      ids: new Set(wanted),
      timer: setTimeout(() => void this.#commit(deletion), UNDO_MS),
      toast: offerUndo(this.#what.texts.deleted(wanted.length), undo),
    }
    this.#pending.add(deletion)
    this.#hide(wanted, true)
    window.addEventListener('pagehide', this.flush)
  }

  /** Cancels a deletion after an undo, or after the item was deleted or changed in another tab. */
  callOff(id: string): void {
    const deletion = [...this.#pending].find(({ ids }) => ids.has(id))
    if (deletion === undefined) return
    deletion.ids.delete(id)
    if (deletion.ids.size === 0) this.#end(deletion)
    this.#hide([id], false)
  }

  /** Executes all pending deletions, and sends the remaining requests of running ones. */
  flush = (): void => {
    for (const deletion of this.#pending) void this.#commit(deletion, Number.POSITIVE_INFINITY)
  }

  /** Subscribes to the items without pending deletions. */
  useKept<T extends { readonly id: string }>(items: readonly T[]): readonly T[] {
    const hidden = useAtomValue(this.#hidden, { store })
    return useMemo(() => items.filter(({ id }) => !hidden.has(id)), [items, hidden])
  }

  /** Ends the time to undo a deletion. */
  #end(deletion: Deletion): void {
    clearTimeout(deletion.timer)
    // A toast under the pointer stays, but its action is disabled.
    dismissToast(deletion.toast)
    if (deletion.ids.size === 0) this.#pending.delete(deletion)
  }

  async #commit(deletion: Deletion, lines?: number): Promise<void> {
    this.#end(deletion)
    const { removed, failed } = await removeAll(deletion.ids, this.#what.remove, { lines })
    this.#end(deletion)
    this.#what.onGone(removed)
    this.#hide([...removed, ...failed], false)
    if (failed.length > 0) toastFailure(this.#what.texts.failed, () => this.delete(failed))
  }

  #hide(ids: readonly string[], hide: boolean): void {
    const rest = [...store.get(this.#hidden)].filter((id) => !ids.includes(id))
    store.set(this.#hidden, new Set(hide ? [...rest, ...ids] : rest))
  }
}
