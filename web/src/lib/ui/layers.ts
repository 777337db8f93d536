import { atom } from 'jotai'
import { type RefObject, useEffect } from 'react'
import { store } from '@/lib/ui/store'

const open = atom<readonly HTMLElement[]>([])

/**
 * The topmost modal dialog, or null. Floating elements (menus, tooltips, toasts) must be inside it, because everything
 * outside is below it and inert.
 */
export const layerAtom = atom((get) => get(open).at(-1) ?? null)

/** useLayer makes a modal dialog the topmost layer while it is shown. */
export function useLayer(dialog: RefObject<HTMLElement | null>, shown: boolean): void {
  useEffect(() => {
    const element = dialog.current
    if (!shown || element === null) return
    store.set(open, (layers) => [...layers, element])
    return () => store.set(open, (layers) => layers.filter((layer) => layer !== element))
  }, [dialog, shown])
}
