import { type RefObject, useEffect, useEffectEvent } from 'react'
import { ime } from '@/lib/ui/ime'
import type { Review } from './useReview'

/** useReviewKeys handles the keyboard shortcuts of the last proofread text on the page, except while the user types. */
export function useReviewKeys(view: RefObject<HTMLElement | null>, review: Review): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const box = view.current
    if (box === null || event.defaultPrevented || ime.isComposing(event)) return
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const { target } = event
    const inside = target instanceof Node && box.contains(target)
    if (isTyping(target) || !(inside || isOnTop(box))) return
    const run = actionOf(event.key, review, inside)
    if (run === null) return
    event.preventDefault()
    run()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

function actionOf(key: string, review: Review, inside: boolean): (() => void) | null {
  switch (key.toLowerCase()) {
    case 'j':
      return () => review.step(1)
    case 'k':
      return () => review.step(-1)
    case 'a':
      return () => review.decideSelected('accepted')
    case 'r':
      return () => review.decideSelected('refused')
    // Outside of the list, the arrow keys scroll the page.
    case 'arrowdown':
      return inside ? () => review.step(1) : null
    case 'arrowup':
      return inside ? () => review.step(-1) : null
    default:
      return null
  }
}

/** isOnTop reports whether no dialog or menu is open and no other proofread text follows on the page. */
function isOnTop(box: HTMLElement): boolean {
  if (document.querySelector('dialog[open], [role="menu"]')) return false
  return [...document.querySelectorAll('[data-proofread]')].at(-1) === box
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
