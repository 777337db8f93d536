import { useEffect, useState } from 'react'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import type { SelectionToolbarProps } from './SelectionToolbar'

const toolbarPart = new LazyPart(async () => (await import('./SelectionToolbar')).SelectionToolbar)

/** PassageActions shows the toolbar for a selected passage of an answer. */
export function PassageActions(props: SelectionToolbarProps) {
  const [needed, setNeeded] = useState(false)
  useEffect(() => {
    if (needed) return
    const onSelection = () => getSelection()?.isCollapsed === false && setNeeded(true)
    document.addEventListener('selectionchange', onSelection)
    return () => document.removeEventListener('selectionchange', onSelection)
  }, [needed])
  const Toolbar = useLazyPart(toolbarPart, needed)
  return Toolbar && <Toolbar {...props} />
}
