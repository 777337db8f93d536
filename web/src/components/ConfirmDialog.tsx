import type { ReactNode } from 'react'
import { Button } from './Button'
import { Dialog } from './Dialog'

interface ConfirmDialogProps {
  title: string
  /** The labels of the confirming and the cancelling button. */
  confirm: string
  cancel?: string
  wide?: boolean
  /** Whether the action is destructive. */
  danger?: boolean
  /** Whether the action is in progress. */
  busy?: boolean
  /** The id of the form that the confirming button submits, or its action. */
  form?: string
  onConfirm?: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks for confirmation. Render it only while it is open. */
export function ConfirmDialog({
  title,
  confirm,
  cancel = 'キャンセル',
  wide = false,
  danger = false,
  busy = false,
  form,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  return (
    <Dialog
      title={title}
      wide={wide}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{cancel}</Button>
          <Button
            variant={danger ? 'danger' : 'primary'}
            type={form === undefined ? 'button' : 'submit'}
            form={form}
            loading={busy}
            onClick={onConfirm}
          >
            {confirm}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
