import { atom } from 'jotai'

/** Whether the command palette is open. */
export const paletteOpenAtom = atom(false)

/** Whether the list of shortcuts is open. */
export const shortcutsOpenAtom = atom(false)
