import { type ReactNode, useState } from 'react'
import { readAnew } from '@/lib/api/queries'
import { toast, toastFailure } from '@/lib/ui/toast'
import { ConfirmDialog } from './ConfirmDialog'

interface EndDialogProps {
  words: { confirm: string; end: string; ended: string; notEnded: string }
  end: () => Promise<unknown>
  /** The query to read again once it has ended. */
  changes: readonly string[]
  onClose: () => void
  children: ReactNode
}

/** Asks whether something is to be ended, ends it, and says whether it did. Render it only while it is open. */
export function EndDialog({ words, end, changes, onClose, children }: EndDialogProps) {
  const [busy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await end()
      toast(words.ended, { tone: 'success' })
      onClose()
      await readAnew(changes)
    } catch {
      setBusy(false)
      toastFailure(words.notEnded)
    }
  }
  return (
    <ConfirmDialog
      title={words.confirm}
      confirm={words.end}
      danger
      busy={busy}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  )
}
