import { type RefObject, useEffect } from 'react'
import { useBlocker } from 'react-router'
import { ConfirmDialog } from './ConfirmDialog'
import styles from './UnsavedGuard.module.css'

/**
 * Asks for confirmation before leaving a page with unsaved changes, within the app or by closing it, unless `released`.
 */
export function UnsavedGuard({
  dirty,
  released,
  words,
}: {
  dirty: boolean
  released?: RefObject<boolean>
  words: { title: string; body: string; stay: string; leave: string }
}) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) =>
      dirty && !released?.current && currentLocation.pathname !== nextLocation.pathname,
  )

  useEffect(() => {
    if (!dirty) return
    const onLeave = (event: BeforeUnloadEvent) => {
      if (!released?.current) event.preventDefault()
    }
    window.addEventListener('beforeunload', onLeave)
    return () => window.removeEventListener('beforeunload', onLeave)
  }, [dirty, released])

  if (blocker.state !== 'blocked') return null
  return (
    <ConfirmDialog
      title={words.title}
      confirm={words.leave}
      cancel={words.stay}
      danger
      onConfirm={() => blocker.proceed()}
      onClose={() => blocker.reset()}
    >
      <p className={styles.body}>{words.body}</p>
    </ConfirmDialog>
  )
}
