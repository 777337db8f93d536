import { atom, useAtomValue } from 'jotai'
import { store } from './store'

/** storedChoice returns a user's choice among values that is stored on this device. It follows other tabs. */
export function storedChoice<T extends string>(key: string, values: readonly T[]) {
  const read = () => values.find((value) => value === localStorage.getItem(key)) ?? null
  const chosen = atom<T | null>(read())
  globalThis.addEventListener('storage', (event) => {
    if (event.key === key || event.key === null) store.set(chosen, read())
  })
  return {
    atom: chosen,
    /** The choice, or null without one. */
    get: () => store.get(chosen),
    /** The choice, as a hook. */
    use: () => useAtomValue(chosen, { store }),
    /** Stores a choice; null removes it. */
    set: (value: T | null) => {
      if (value === null) localStorage.removeItem(key)
      else localStorage.setItem(key, value)
      store.set(chosen, value)
    },
  }
}
