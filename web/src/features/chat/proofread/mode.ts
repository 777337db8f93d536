import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** Mode is the layout of a proofread text: original and correction side by side, or combined. */
export type Mode = 'split' | 'joined'

const KEY = 'tsumugiProofread'

const chosen = atom<Mode>(localStorage.getItem(KEY) === 'joined' ? 'joined' : 'split')

/** modeAtom is the layout of proofread texts on this device. */
export const modeAtom = atom((get) => get(chosen))

/** setMode sets the layout of proofread texts and stores it on this device. */
export function setMode(mode: Mode): void {
  localStorage.setItem(KEY, mode)
  store.set(chosen, mode)
}
