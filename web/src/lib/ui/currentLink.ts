import { type RefObject, useEffect, useRef } from 'react'
import { useLocation } from 'react-router'

/** useCurrentLink returns the ref of a navigation on one line that scrolls: it keeps the link to the open page in view. */
export function useCurrentLink(): RefObject<HTMLElement | null> {
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current link follows the URL.
  useEffect(() => {
    const current = nav.current?.querySelector('[aria-current="page"]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [pathname])
  return nav
}
