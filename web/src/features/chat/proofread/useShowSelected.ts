import { type RefObject, useEffect } from 'react'

/**
 * Brings the selected change into view: its mark in the text and, where the list stands beside it and scrolls by itself,
 * its entry, which gets the focus.
 */
export function useShowSelected(
  view: RefObject<HTMLElement | null>,
  selected: number | null,
  roomy: boolean,
): void {
  useEffect(() => {
    const box = view.current
    if (selected === null || box === null) return
    const item = box.querySelector<HTMLElement>(`[data-item="${selected}"]`)
    const list = item?.closest<HTMLElement>('[data-list]')
    if (roomy && item && list) {
      scrollWithin(list, item)
      // The keys go on from there, and screen readers tell what it is.
      if (!item.contains(document.activeElement))
        item.querySelector<HTMLElement>('button')?.focus({ preventScroll: true })
    }
    const mark = box.querySelector(`[data-mark="${selected}"]`)
    if (mark && !isVisible(mark)) mark.scrollIntoView({ block: 'center' })
  }, [view, selected, roomy])
}

/** Scrolls a list, and nothing around it. */
function scrollWithin(list: HTMLElement, item: HTMLElement): void {
  const inside = list.getBoundingClientRect()
  const box = item.getBoundingClientRect()
  if (box.top < inside.top) list.scrollTop -= inside.top - box.top
  else if (box.bottom > inside.bottom) list.scrollTop += box.bottom - inside.bottom
}

/** Whether an element is on the screen, and not under what sticks to the edges of it. */
function isVisible(element: Element): boolean {
  const { top, left, width, height } = element.getBoundingClientRect()
  const hit = document.elementFromPoint(left + Math.min(width, 4) / 2, top + Math.min(height, 8) / 2)
  return hit !== null && (hit === element || element.contains(hit) || hit.contains(element))
}
