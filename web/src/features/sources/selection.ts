import { useCallback, useState } from 'react'
import type { DataSource } from '@/lib/api'

/** Which data sources of a list are selected. */
export interface Selection {
  readonly selected: readonly DataSource[]
  readonly has: (id: string) => boolean
  readonly toggle: (id: string) => void
  /** Selects all of the list, or none if they are. */
  readonly toggleAll: () => void
  readonly clear: () => void
}

/** The selection in a list: what is no longer in it is not selected either. */
export function useSelection(items: readonly DataSource[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  // The same function always: a row is drawn anew only when it changes.
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
