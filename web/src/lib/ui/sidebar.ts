import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** Whether the sheet with the thread list is open on a narrow screen. */
export const sidebarOpenAtom = atom(false)

const KEY = 'tsumugiSidebar'

const folded = atom(localStorage.getItem(KEY) === 'folded')

/** Whether the column with the thread list is folded on a wide screen. */
export const sidebarFoldedAtom = atom((get) => get(folded))

/** foldSidebar folds or unfolds the column, and stores that on this device. */
export function foldSidebar(fold: boolean): void {
  if (fold) localStorage.setItem(KEY, 'folded')
  else localStorage.removeItem(KEY)
  store.set(folded, fold)
}
