import { useSyncExternalStore } from 'react'

/** Where the side column becomes a sheet. Keep it in step with the style sheets. */
export const NARROW = '(max-width: 899px)'

/** Whether a media query holds now. */
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
