import { type RefObject, useEffect, useRef } from 'react'

/**
 * Gives the focus to the viewer when it opens, or shows something else at the wish of somebody outside of it, and back
 * when it closes. `place` changes with what it shows.
 */
export function useFocus(
  panel: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null>,
  place: string,
): void {
  const from = useRef<Element | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs whenever another place is shown.
  useEffect(() => {
    const { activeElement } = document
    const inside = activeElement !== panel.current && panel.current?.contains(activeElement)
    if (inside && from.current !== null) return
    if (!inside && activeElement !== null && activeElement !== document.body) from.current = activeElement
    scroller.current?.focus({ preventScroll: true })
  }, [panel, scroller, place])

  useEffect(
    () => () => {
      const { activeElement } = document
      if (activeElement !== null && activeElement !== document.body) return
      const back = from.current?.isConnected ? from.current : document.querySelector('main')
      if (back instanceof HTMLElement) back.focus({ preventScroll: true })
    },
    [],
  )
}
