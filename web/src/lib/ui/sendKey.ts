import { atom, useAtomValue } from 'jotai'
import { keys } from '@/lib/browser/platform'
import { store } from '@/lib/ui/store'
import { ime, type KeyEventLike } from './ime'
import { useMedia } from './media'

/** The key that sends a question: Enter, or Ctrl/⌘ and Enter. */
export type SendKey = 'enter' | 'mod-enter'

const KEY = 'tsumugiSendKey'

const chosen = atom<SendKey | null>(readChoice())

/** setSendKey sets the sending key and stores it on this device. */
export function setSendKey(choice: SendKey): void {
  localStorage.setItem(KEY, choice)
  store.set(chosen, choice)
}

/** Follows the choice made in another tab. */
export function followSendKey(target: Window): () => void {
  const onStorage = (event: StorageEvent) => {
    if (event.key === KEY || event.key === null) store.set(chosen, readChoice())
  }
  target.addEventListener('storage', onStorage)
  return () => target.removeEventListener('storage', onStorage)
}

/**
 * useSendKey returns the sending key on this device. The default is Enter, except on a touch screen, whose keyboard has
 * no other key for a line break.
 */
export function useSendKey(): SendKey {
  const touch = useMedia('(pointer: coarse)')
  return useAtomValue(chosen, { store }) ?? (touch ? 'mod-enter' : 'enter')
}

/** The keys for sending and for a line break, as named on this device. */
export function sendKeys(sendKey: SendKey): { readonly send: string; readonly break: string } {
  return sendKey === 'enter'
    ? { send: 'Enter', break: keys('shift', 'Enter') }
    : { send: keys('mod', 'Enter'), break: 'Enter' }
}

/** isSend reports whether a key sends. The Enter of a conversion never does; Ctrl/⌘ and Enter always do. */
export function isSend(event: KeyEventLike & KeyState, sendKey: SendKey): boolean {
  if (event.key !== 'Enter' || event.shiftKey || ime.isComposing(event)) return false
  return sendKey === 'enter' || event.ctrlKey || event.metaKey
}

interface KeyState {
  readonly key: string
  readonly shiftKey: boolean
  readonly ctrlKey: boolean
  readonly metaKey: boolean
}

function readChoice(): SendKey | null {
  const value = localStorage.getItem(KEY)
  return value === 'enter' || value === 'mod-enter' ? value : null
}
