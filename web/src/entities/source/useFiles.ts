import { type DragEvent, useEffect, useState } from 'react'
import { layerAtom } from '@/lib/ui/layers'
import { store } from '@/lib/ui/store'

/** DropHandlers are the event handlers of an element that accepts dropped files. */
interface DropHandlers {
  readonly onDragOver: (event: DragEvent) => void
  readonly onDragLeave: (event: DragEvent) => void
  readonly onDrop: (event: DragEvent) => void
}

/**
 * useFiles accepts files that are dropped on an element or pasted anywhere. `over` is true while files are dragged over
 * the element. With null it accepts none. Dropped folders are in `dropped` only.
 */
export function useFiles(onFiles: ((files: readonly File[], dropped?: DataTransfer) => void) | null): {
  readonly over: boolean
  readonly handlers: DropHandlers
} {
  const [over, setOver] = useState(false)

  useEffect(() => {
    if (onFiles === null) return
    const onPaste = (event: ClipboardEvent) => {
      const files = [...(event.clipboardData?.files ?? [])]
      // Word and Excel copy a picture in addition to text; the text takes precedence. Browsers add HTML, but no plain
      // text, to a copied picture.
      if (
        event.clipboardData?.types.includes('text/html') &&
        event.clipboardData.getData('text/plain') !== ''
      )
        return
      // An open layer over the page handles files itself.
      if (files.length === 0 || event.defaultPrevented || store.get(layerAtom) !== null) return
      event.preventDefault()
      onFiles(files)
    }
    window.addEventListener('paste', onPaste)
    return () => window.removeEventListener('paste', onPaste)
  }, [onFiles])

  const handlers: DropHandlers = {
    onDragOver: (event) => {
      if (onFiles === null || !event.dataTransfer.types.includes('Files')) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      setOver(true)
    },
    onDragLeave: ({ currentTarget, relatedTarget }) => {
      if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false)
    },
    onDrop: (event) => {
      setOver(false)
      if (onFiles === null || !event.dataTransfer.types.includes('Files')) return
      event.preventDefault()
      onFiles([...event.dataTransfer.files], event.dataTransfer)
    },
  }
  return { over, handlers }
}
