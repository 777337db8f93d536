import { type RefObject, useLayoutEffect, useState } from 'react'

/** From this width on the list of changes stands beside the text, in pixels. */
const roomyFrom = 800

/** Whether an element is wide enough for two columns. */
export function useRoomy(element: RefObject<HTMLElement | null>): boolean {
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
