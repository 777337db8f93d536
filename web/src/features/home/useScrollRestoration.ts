import { type RefObject, useLayoutEffect, useRef } from 'react'
import { useLocation } from 'react-router'

/** The scroll position of a visit to a page, by the key of its history entry. */
const places = new Map<string, number>()

/**
 * useScrollRestoration shows another page from its top, or at its scroll position when the user returns to it. The
 * browser does so only for a whole window.
 */
export function useScrollRestoration(scroller: RefObject<HTMLElement | null>): void {
  const { key, pathname } = useLocation()
  const shown = useRef(pathname)
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const place = places.get(key)
    if (place !== undefined || shown.current !== pathname) element.scrollTop = place ?? 0
    shown.current = pathname
    const onScroll = () => places.set(key, element.scrollTop)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => element.removeEventListener('scroll', onScroll)
  }, [scroller, key, pathname])
}
