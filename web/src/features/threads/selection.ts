import { createContext, useContext } from 'react'

/** The threads that are selected for an action on all of them. */
interface Selection {
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
}

/** Null while selection is off. */
export const SelectionContext = createContext<Selection | null>(null)

export const useSelection = () => useContext(SelectionContext)
