import { useLayoutEffect } from 'react'
import { useLocation } from 'react-router'

/** The scroll position of a visit to the list, by the key of its history entry. */
const places = new Map<string, number>()

/** Restores the scroll position when the user returns to the list: the browser does so only for a whole page. */
export function useScrollRestoration(): void {
  const { key } = useLocation()
  useLayoutEffect(() => {
    const main = document.querySelector('main')
    const place = places.get(key)
    if (main === null) return
    if (place !== undefined) main.scrollTop = place
    const onScroll = () => places.set(key, main.scrollTop)
    main.addEventListener('scroll', onScroll, { passive: true })
    return () => main.removeEventListener('scroll', onScroll)
  }, [key])
}
