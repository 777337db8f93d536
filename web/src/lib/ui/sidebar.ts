import { atom } from 'jotai'

/** Whether the sheet with the thread list is open on a narrow screen. */
export const sidebarOpenAtom = atom(false)
