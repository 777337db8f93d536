import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'react-router'

/**
 * Announces the new page to screen readers, and moves the focus if the focused element disappeared with the old page. A
 * focus that is still in the page (a link of the thread list, the composer) stays.
 */
export function RouteAnnouncer() {
  const { pathname } = useLocation()
  const [title, setTitle] = useState('')
  const first = useRef(true)

  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs for each new path.
  useEffect(() => {
    if (first.current) {
      first.current = false
      return
    }
    // The title is set in the same commit, but a page's own focus may come an effect later.
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
