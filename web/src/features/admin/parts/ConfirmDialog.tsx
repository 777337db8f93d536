import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { texts } from '../texts'

interface ConfirmDialogProps {
  title: string
  /** What the buttons say: the one that goes on, and the one that does not. */
  confirm: string
  cancel?: string
  /** What goes on takes something away. */
  danger?: boolean
  /** It is under way; the dialog stays until it is closed. */
  busy?: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks before something is done. Render it only while it is open. */
export function ConfirmDialog({
  title,
  confirm,
  cancel = texts.common.cancel,
  danger = false,
  busy = false,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{cancel}</Button>
          <Button variant={danger ? 'danger' : 'primary'} loading={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
