import { type FocusEvent, type RefObject, useLayoutEffect, useRef } from 'react'

/**
 * useListFocus keeps the focus in a list whose lines (`data-line`) change. If the focused line is removed, the line at
 * its position gets the focus, else the last line, else the page.
 */
export function useListFocus<E extends HTMLElement>(
  lines: unknown,
): { box: RefObject<E | null>; onFocus: (event: FocusEvent) => void } {
  const box = useRef<E>(null)
  const last = useRef<{ element: Element; at: number }>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: The effect runs when the lines have changed.
  useLayoutEffect(() => {
    if (last.current === null || last.current.element.isConnected) return
    const { at } = last.current
    last.current = null
    if (document.activeElement !== null && document.activeElement !== document.body) return
    const left = linesOf(box.current)
    const line = left[at] ?? left.at(-1)
    const next = line?.querySelector('button') ?? document.querySelector<HTMLElement>('main')
    next?.focus({ preventScroll: true })
  }, [lines])

  const onFocus = ({ target }: FocusEvent) => {
    const at = linesOf(box.current).findIndex((line) => line.contains(target))
    last.current = at < 0 ? null : { element: target, at }
  }
  return { box, onFocus }
}

function linesOf(box: HTMLElement | null): HTMLElement[] {
  return [...(box?.querySelectorAll<HTMLElement>('[data-line]') ?? [])]
}
