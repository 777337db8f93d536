import { type RefObject, useEffect } from 'react'

/**
 * useShowSelected scrolls to the selected change: to its mark in the text and, in the two-column layout, to its list
 * entry, which also receives the focus.
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
      // Keyboard navigation continues from the focused entry, and screen readers announce it.
      if (!item.contains(document.activeElement))
        item.querySelector<HTMLElement>('button')?.focus({ preventScroll: true })
    }
    const mark = box.querySelector(`[data-mark="${selected}"]`)
    if (mark && !isVisible(mark)) mark.scrollIntoView({ block: 'center' })
  }, [view, selected, roomy])
}

/** scrollWithin scrolls only the list, not its ancestors. */
function scrollWithin(list: HTMLElement, item: HTMLElement): void {
  const inside = list.getBoundingClientRect()
  const box = item.getBoundingClientRect()
  if (box.top < inside.top) list.scrollTop -= inside.top - box.top
  else if (box.bottom > inside.bottom) list.scrollTop += box.bottom - inside.bottom
}

/** isVisible reports whether an element is in the viewport and not covered by a sticky element. */
function isVisible(element: Element): boolean {
  const { top, left, width, height } = element.getBoundingClientRect()
  const hit = document.elementFromPoint(left + Math.min(width, 4) / 2, top + Math.min(height, 8) / 2)
  return hit !== null && (hit === element || element.contains(hit) || hit.contains(element))
}
