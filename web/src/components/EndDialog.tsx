import { type ReactNode, useState } from 'react'
import { reload } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Button, type ButtonProps } from './Button'
import { ConfirmDialog } from './ConfirmDialog'

interface EndDialogProps {
  words: { confirm: string; end: string; ended: string; notEnded: string }
  end: () => Promise<unknown>
  /** Returns the message for a failure whose reason is known. */
  reasonOf?: (cause: unknown) => string | undefined
  /** The query key to invalidate afterwards. */
  changes?: readonly string[]
  onClose: () => void
  children: ReactNode
}

interface EndButtonProps extends Omit<EndDialogProps, 'onClose'> {
  label: string
  /** Names the object for screen readers, because several buttons have the same label. */
  of?: string
  size?: ButtonProps['size']
}

/** A button that opens an EndDialog. */
export function EndButton({ label, of, size = 'sm', ...dialog }: EndButtonProps) {
  const [asking, setAsking] = useState(false)
  return (
    <>
      <Button size={size} variant="quietDanger" onClick={() => setAsking(true)}>
        {of && <span className="visually-hidden">{of}</span>}
        {label}
      </Button>
      {asking && <EndDialog {...dialog} onClose={() => setAsking(false)} />}
    </>
  )
}

/** Asks for confirmation before something is ended, ends it, and shows the result. Render it only while it is open. */
export function EndDialog({ words, end, reasonOf, changes, onClose, children }: EndDialogProps) {
  const { busy, run } = useTask()
  const confirm = async () => {
    await run(
      async () => {
        await end()
        toast(words.ended, { tone: 'success' })
        onClose()
        if (changes) await reload(changes)
      },
      (cause) => toastFailure(reasonOf?.(cause) ?? words.notEnded),
    )
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
