import { createContext, useContext } from 'react'

/** The threads that are being chosen to do something with all of them. */
export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
}

/** Null while nothing is being chosen. */
export const SelectionContext = createContext<Selection | null>(null)

export const useSelection = () => useContext(SelectionContext)
