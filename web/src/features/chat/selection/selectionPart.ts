import { LazyPart } from '@/lib/ui/lazyPart'

/** selectionPart is the toolbar for a selected passage, loaded when a text is selected for the first time. */
export const selectionPart = new LazyPart(async () => (await import('./SelectionToolbar')).SelectionToolbar)
