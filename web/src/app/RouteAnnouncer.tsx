import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'react-router'

/**
 * RouteAnnouncer announces the new page to screen readers. It moves the focus if the focused element disappeared with
 * the old page. Otherwise, the focus stays, for example on a link of the thread list or in the composer.
 */
export function RouteAnnouncer() {
  const { pathname } = useLocation()
  const [title, setTitle] = useState('')
  const first = useRef(true)

  // biome-ignore lint/correctness/useExhaustiveDependencies: The effect runs for each new path.
  useEffect(() => {
    if (first.current) {
      first.current = false
      return
    }
    // The title is set in the same commit, but the page may set the focus in a later effect.
    const frame = requestAnimationFrame(() => {
      setTitle(document.title)
      if (document.activeElement === document.body || document.activeElement === null) {
        document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
      }
    })
    return () => cancelAnimationFrame(frame)
  }, [pathname])

  return (
    <div className="visually-hidden" aria-live="polite" aria-atomic="true">
      {title}
    </div>
  )
}
