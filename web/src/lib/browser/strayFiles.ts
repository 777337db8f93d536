import { toast } from '@/lib/ui/toast'

const REFUSED = 'ここではファイルや画像を使用できません。文章をコピーして貼り付けてください。'

/**
 * Handles files that are dropped or pasted where no component accepts them. The browser would replace the app by a
 * dropped file, and silently ignore a pasted one. Components that accept files prevent the event's default.
 */
export function refuseStrayFiles(target: Window): () => void {
  const onDragOver = (event: DragEvent) => {
    // Otherwise the browser fires no drop event.
    if (isStray(event)) event.preventDefault()
  }
  const onDrop = (event: DragEvent) => {
    if (!isStray(event)) return
    event.preventDefault()
    toast(REFUSED)
  }
  const onPaste = (event: ClipboardEvent) => {
    const { clipboardData } = event
    // Word and Excel add a picture to copied text; the text takes precedence.
    if (!clipboardData?.files.length || clipboardData.types.includes('text/plain')) return
    // Other listeners on the window run first.
    setTimeout(() => event.defaultPrevented || toast(REFUSED))
  }
  target.addEventListener('dragover', onDragOver)
  target.addEventListener('drop', onDrop)
  target.addEventListener('paste', onPaste)
  return () => {
    target.removeEventListener('dragover', onDragOver)
    target.removeEventListener('drop', onDrop)
    target.removeEventListener('paste', onPaste)
  }
}

function isStray({ dataTransfer, defaultPrevented, target }: DragEvent): boolean {
  if (defaultPrevented || !dataTransfer?.types.includes('Files')) return false
  return !(target instanceof Element && target.closest('input[type="file"]'))
}
