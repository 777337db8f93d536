import { type ReactNode, useId } from 'react'
import { cx } from '@/lib/ui/cx'
import { useModal } from '@/lib/ui/layers'
import styles from './Dialog.module.css'

interface DialogProps {
  title: string
  onClose: () => void
  /** Buttons at the foot; the affirmative one is last. */
  actions?: ReactNode
  wide?: boolean
  className?: string | undefined
  /** Hides the title visually if the content has it. */
  hideTitle?: boolean
  children: ReactNode
}

/**
 * A modal dialog, based on the browser's own. It traps the focus, requests to be closed on Esc and restores the focus.
 * Render it only while it is open.
 */
export function Dialog({
  title,
  onClose,
  actions,
  wide = false,
  className,
  hideTitle,
  children,
}: DialogProps) {
  const dialog = useModal()
  const id = useId()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is on the backdrop; Esc does the same through onCancel.
    <dialog
      ref={dialog}
      className={cx(styles.dialog, wide && styles.wide, className)}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current && outside(event, dialog.current)) onClose()
      }}
    >
      <h2 id={id} className={hideTitle ? 'visually-hidden' : styles.title}>
        {title}
      </h2>
      {children}
      {actions && <div className={styles.actions}>{actions}</div>}
    </dialog>
  )
}

function outside(event: { clientX: number; clientY: number }, element: HTMLElement): boolean {
  const box = element.getBoundingClientRect()
  return (
    event.clientX < box.left ||
    event.clientX > box.right ||
    event.clientY < box.top ||
    event.clientY > box.bottom
  )
}
