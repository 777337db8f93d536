import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { texts } from '../texts'

interface ConfirmDialogProps {
  title: string
  /** The labels of the confirming and the cancelling button. */
  confirm: string
  cancel?: string
  /** Whether the action is destructive. */
  danger?: boolean
  /** Whether the action is in progress. */
  busy?: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks for confirmation. Render it only while it is open. */
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
