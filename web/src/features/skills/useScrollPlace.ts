import { useLayoutEffect } from 'react'
import { useLocation } from 'react-router'

/** How far down a visit to the list was, by the key of its place in the history. */
const places = new Map<string, number>()

/** Brings who comes back to the list to where they were in it: the browser does so for a whole page only. */
export function useScrollPlace(): void {
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
