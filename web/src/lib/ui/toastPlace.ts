import { atom } from 'jotai'
import { type RefObject, useLayoutEffect } from 'react'
import { store } from './store'

/** The boxes that toasts are placed by: centred over the page, above the composer or the buttons at its foot. */
interface Place {
  readonly page?: DOMRect | undefined
  readonly foot?: DOMRect | undefined
}

const place = atom<Place>({})

/** The current boxes. */
export const toastPlaceAtom = atom((get) => get(place))

/** useToastPlace places toasts by an element while it is shown. */
export function useToastPlace(name: keyof Place, ref: RefObject<HTMLElement | null>, shown = true): void {
  useLayoutEffect(() => {
    const element = ref.current
    if (!shown || element === null) return
    const set = (box?: DOMRect) => store.set(place, { ...store.get(place), [name]: box })
    const observer = new ResizeObserver(() => set(element.getBoundingClientRect()))
    observer.observe(element)
    return () => {
      observer.disconnect()
      set()
    }
  }, [name, ref, shown])
}
