import { type RefObject, useLayoutEffect, useState } from 'react'

/** The minimum width for two columns, in pixels. */
const roomyFrom = 800

/** useTwoColumns reports whether an element is wide enough for two columns. */
export function useTwoColumns(element: RefObject<HTMLElement | null>): boolean {
  const [roomy, setRoomy] = useState(false)
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return
    const measure = () => setRoomy(box.clientWidth >= roomyFrom)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(box)
    return () => observer.disconnect()
  }, [element])
  return roomy
}
