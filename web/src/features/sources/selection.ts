import { useCallback, useState } from 'react'
import type { DataSource } from '@/lib/api'

/** Selection is the set of selected data sources of a list. */
export interface Selection {
  readonly selected: readonly DataSource[]
  readonly has: (id: string) => boolean
  readonly toggle: (id: string) => void
  /** Selects all data sources of the list, or none if all are selected. */
  readonly toggleAll: () => void
  readonly clear: () => void
}

/** useSelection returns the selection in a list. Data sources that leave the list are no longer selected. */
export function useSelection(items: readonly DataSource[]): Selection {
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
