import { keys } from '@/lib/browser/platform'
import { ime, type KeyEventLike } from './ime'
import { useMedia } from './media'
import { storedChoice } from './storedChoice'

/** The key that sends a question: Enter, or Ctrl/⌘ and Enter. */
type SendKey = 'enter' | 'mod-enter'

const choice = storedChoice<SendKey>('tsumugiSendKey', ['enter', 'mod-enter'])

export const setSendKey = choice.set

/**
 * useSendKey returns the sending key on this device. The default is Enter, except on a touch screen, whose keyboard has
 * no other key for a line break.
 */
export function useSendKey(): SendKey {
  const touch = useMedia('(pointer: coarse)')
  return choice.use() ?? (touch ? 'mod-enter' : 'enter')
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
