import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import { wheelZoom } from './zoom'

/**
 * useWheelZoom zooms on Ctrl+wheel, which includes pinching on a touchpad. The point under the pointer, or the center,
 * keeps its position.
 */
export function useWheelZoom(
  scroller: RefObject<HTMLElement | null>,
  enabled: boolean,
  scale: number,
  onZoom: (zoom: number) => void,
): void {
  const pointer = useRef<{ x: number; y: number } | null>(null)
  const onWheel = useEffectEvent((event: WheelEvent) => {
    if (!event.ctrlKey) return
    event.preventDefault()
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    pointer.current = { x: event.clientX - left, y: event.clientY - top }
    onZoom(wheelZoom(scale, event.deltaY))
  })

  useEffect(() => {
    const element = scroller.current
    if (!enabled || element === null) return
    const listener = (event: WheelEvent) => onWheel(event)
    // Not passive, because the browser would zoom the whole page.
    element.addEventListener('wheel', listener, { passive: false })
    return () => element.removeEventListener('wheel', listener)
  }, [scroller, enabled])

  const before = useRef(scale)
  useLayoutEffect(() => {
    const element = scroller.current
    const by = scale / before.current
    before.current = scale
    if (element === null || by === 1) return
    const { x, y } = pointer.current ?? { x: element.clientWidth / 2, y: element.clientHeight / 2 }
    pointer.current = null
    element.scrollLeft = (element.scrollLeft + x) * by - x
    element.scrollTop = (element.scrollTop + y) * by - y
  }, [scroller, scale])
}
