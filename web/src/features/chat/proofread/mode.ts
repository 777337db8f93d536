import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** How a proofread text is shown: before and after side by side, or in one. */
export type Mode = 'split' | 'joined'

const KEY = 'tsumugiProofread'

const chosen = atom<Mode>(localStorage.getItem(KEY) === 'joined' ? 'joined' : 'split')

/** How proofread texts are shown on this device. */
export const modeAtom = atom((get) => get(chosen))

/** Sets how proofread texts are shown, here and for the next visit. */
export function setMode(mode: Mode): void {
  localStorage.setItem(KEY, mode)
  store.set(chosen, mode)
}
