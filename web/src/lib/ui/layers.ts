import { atom } from 'jotai'
import { type RefObject, useEffect, useRef } from 'react'
import { store } from '@/lib/ui/store'

const open = atom<readonly HTMLElement[]>([])

/**
 * The topmost modal dialog, or null. Floating elements (menus, tooltips, toasts) must be inside it, because everything
 * outside is below it and inert.
 */
export const layerAtom = atom((get) => get(open).at(-1) ?? null)

/**
 * useModal returns the ref of a dialog that is modal while it is rendered. Afterwards the focus returns to the element
 * that had it.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayer(dialog, true)
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      // The browser restores the focus only for a dialog that is still in the document.
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  return dialog
}

/** useLayer makes a modal dialog the topmost layer while it is shown. */
export function useLayer(dialog: RefObject<HTMLElement | null>, shown: boolean): void {
  useEffect(() => {
    const element = dialog.current
    if (!shown || element === null) return
    store.set(open, (layers) => [...layers, element])
    return () => store.set(open, (layers) => layers.filter((layer) => layer !== element))
  }, [dialog, shown])
}
