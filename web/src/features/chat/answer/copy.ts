import { toast, toastFailure } from '@/lib/ui/toast'
import { texts } from '../texts'

/** copyWithToast writes to the clipboard and shows whether that succeeded. */
export function copyWithToast(write: () => Promise<void>, done: string): void {
  write().then(
    () => toast(done, { tone: 'success' }),
    () => toastFailure(texts.actions.copyFailed, () => copyWithToast(write, done)),
  )
}
