import { type RefObject, useEffect, useRef } from 'react'
import { useLocation } from 'react-router'
import type { Conversation } from '../conversation/conversation'
import type { Turn } from '../conversation/turns'

/** How long a revealed message is highlighted, in milliseconds. */
const SHOWN_MS = 2400

/** useReveal scrolls to the message in the URL (`#<id>`) once it and the following messages are loaded. */
export function useReveal(
  conversation: Conversation,
  turns: readonly Turn[],
  content: RefObject<HTMLElement | null>,
  toItem: (item: Element) => void,
): void {
  const { hash, key } = useLocation()
  const id = hash.slice(1)
  // The visit whose message has been shown. Choosing a result again is another visit, with another key.
  const shown = useRef('')

  useEffect(() => {
    if (id !== '') void conversation.reveal(id)
  }, [conversation, id])

  useEffect(() => {
    if (id === '' || shown.current === key || !turns.some((turn) => turn.message.id === id)) return
    const item = content.current?.querySelector(`[data-message="${CSS.escape(id)}"]`)
    if (!item) return
    shown.current = key
    toItem(item)
    item.toggleAttribute('data-found', true)
    setTimeout(() => item.removeAttribute('data-found'), SHOWN_MS)
  }, [turns, id, key, content, toItem])
}
