import { type RefObject, useEffect, useRef } from 'react'

/**
 * useFocus moves the focus to the viewer when it opens or when an outside control changes its content, and moves it
 * back when the viewer closes. `place` changes with the content.
 */
export function useFocus(
  panel: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null>,
  place: string,
): void {
  const from = useRef<Element | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect runs for every new place.
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
