import { useSyncExternalStore } from 'react'

/** The width below which the side column is a sheet. Keep it in sync with the style sheets. */
export const NARROW = '(max-width: 899px)'

/** The width of phones. Keep it in sync with the style sheets. */
export const PHONE = '(max-width: 720px)'

/** Whether a media query matches now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(query)
      list.addEventListener('change', listener)
      return () => list.removeEventListener('change', listener)
    },
    () => window.matchMedia(query).matches,
  )
}
