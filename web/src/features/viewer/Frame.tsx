import { type KeyboardEvent, type ReactNode, type RefObject, useEffect } from 'react'
import { ime } from '@/lib/ui/ime'
import { useLayer } from '@/lib/ui/layers'
import { useMedia } from '@/lib/ui/media'
import styles from './Viewer.module.css'

/** Media query for screens that are wide enough to show the viewer next to the page. */
const ROOMY = '(min-width: 1200px)'

interface FrameProps {
  readonly label: string
  readonly panel: RefObject<HTMLElement | null>
  readonly onClose: () => void
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly children: ReactNode
}

/** Frame contains the viewer: a panel next to the page, or on narrow screens a sheet over the page. */
export function Frame(props: FrameProps) {
  return useMedia(ROOMY) ? <Panel {...props} /> : <Sheet {...props} />
}

function Panel({ label, panel, onClose, onKeyDown, children }: FrameProps) {
  return (
    <aside
      ref={panel}
      className={styles.panel}
      aria-label={label}
      data-print="hide"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented && !ime.isComposing(event)) {
          event.preventDefault()
          onClose()
        } else onKeyDown(event)
      }}
    >
      {children}
    </aside>
  )
}

function Sheet({ label, panel, onClose, onKeyDown, children }: FrameProps) {
  const dialog = panel as RefObject<HTMLDialogElement | null>
  useLayer(dialog, true)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [dialog])
  return (
    <dialog
      ref={dialog}
      className={styles.sheet}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
      onKeyDown={onKeyDown}
    >
      {children}
    </dialog>
  )
}
