import { type RefObject, useEffect } from 'react'
import { useBlocker } from 'react-router'
import { ConfirmDialog } from './ConfirmDialog'
import styles from './UnsavedGuard.module.css'

/**
 * Asks for confirmation before leaving a page with unsaved changes, within the app or by closing it, unless `released`.
 */
export function UnsavedGuard({ dirty, released }: { dirty: boolean; released?: RefObject<boolean> }) {
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
      title="保存せずに移動しますか？"
      confirm="保存せずに移動"
      cancel="このページに残る"
      danger
      onConfirm={() => blocker.proceed()}
      onClose={() => blocker.reset()}
    >
      <p className={styles.body}>保存していない変更は失われます。</p>
    </ConfirmDialog>
  )
}
