import { type RefObject, useLayoutEffect, useState } from 'react'

/** Box is the inner size of an element, in pixels. */
interface Box {
  readonly width: number
  readonly height: number
}

/** useBox measures the size of an element inside its padding and follows changes; 0 before the first measurement. */
export function useBox(element: RefObject<HTMLElement | null>): Box {
  const [box, setBox] = useState<Box>({ width: 0, height: 0 })
  useLayoutEffect(() => {
    if (element.current === null) return
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return
      const { width, height } = entry.contentRect
      setBox((before) => (before.width === width && before.height === height ? before : { width, height }))
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return box
}
