import { atom } from 'jotai'
import { type RefObject, useEffect } from 'react'
import { store } from '@/lib/ui/store'

const open = atom<readonly HTMLElement[]>([])

/**
 * The modal dialog on top, or null. Whatever floats (menus, tooltips, toasts) has to be in it: all that is outside lies
 * below it and takes no clicks.
 */
export const layerAtom = atom((get) => get(open).at(-1) ?? null)

/** Makes a modal dialog the layer on top while it is shown. */
export function useLayer(dialog: RefObject<HTMLElement | null>, shown: boolean): void {
  useEffect(() => {
    const element = dialog.current
    if (!shown || element === null) return
    store.set(open, (layers) => [...layers, element])
    return () => store.set(open, (layers) => layers.filter((layer) => layer !== element))
  }, [dialog, shown])
}
