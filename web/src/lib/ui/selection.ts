import { useCallback, useState } from 'react'

/** Selection is the set of selected items of a list. */
export interface Selection<T> {
  readonly selected: readonly T[]
  readonly has: (id: string) => boolean
  readonly toggle: (id: string) => void
  /** Selects all items of the list, or none if all are selected. */
  readonly toggleAll: () => void
  readonly clear: () => void
}

/** useSelection returns the selection in a list. Items that leave the list are no longer selected. */
export function useSelection<T extends { readonly id: string }>(items: readonly T[]): Selection<T> {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  // The function is stable, so that a row renders only when it changes.
  const toggle = useCallback((id: string) => {
    setIds((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  const selected = items.filter(({ id }) => ids.has(id))
  return {
    selected,
    has: (id) => ids.has(id),
    toggle,
    toggleAll: () =>
      setIds(selected.length === items.length ? new Set() : new Set(items.map(({ id }) => id))),
    clear: () => setIds(new Set()),
  }
}
