import { useEffect, useState } from 'react'
import { useLazyPart } from '@/lib/ui/lazyPart'
import { useMedia } from '@/lib/ui/media'
import type { SelectionToolbarProps } from './SelectionToolbar'
import { selectionPart } from './selectionPart'

/**
 * PassageActions shows the toolbar for a selected passage of an answer. It is not shown on touch screens, where the
 * system's own menu appears in its place.
 */
export function PassageActions(props: SelectionToolbarProps) {
  const touch = useMedia('(pointer: coarse)')
  const [needed, setNeeded] = useState(false)
  useEffect(() => {
    if (touch || needed) return
    const onSelection = () => getSelection()?.isCollapsed === false && setNeeded(true)
    document.addEventListener('selectionchange', onSelection)
    return () => document.removeEventListener('selectionchange', onSelection)
  }, [touch, needed])
  const Toolbar = useLazyPart(selectionPart, needed && !touch)
  return Toolbar && <Toolbar {...props} />
}
