import { type RefObject, useLayoutEffect, useState } from 'react'

/** The room in a box. */
export interface Box {
  readonly width: number
  readonly height: number
}

/** The room inside an element's padding, kept up to date; 0 before it is measured. */
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
