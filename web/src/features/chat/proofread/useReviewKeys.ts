import { type RefObject, useEffect, useEffectEvent } from 'react'
import { ime } from '@/lib/ui/ime'
import type { Review } from './useReview'

/** The keys of a review: on the whole page while nothing is typed, for the last text that is proofread on it. */
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
    // Elsewhere the arrows scroll.
    case 'arrowdown':
      return inside ? () => review.step(1) : null
    case 'arrowup':
      return inside ? () => review.step(-1) : null
    default:
      return null
  }
}

/** Whether no dialog or menu is open, and no other text is proofread further down. */
function isOnTop(box: HTMLElement): boolean {
  if (document.querySelector('dialog[open], [role="menu"]')) return false
  return [...document.querySelectorAll('[data-proofread]')].at(-1) === box
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
