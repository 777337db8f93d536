import { atom, type WritableAtom } from 'jotai'
import { store } from '@/lib/ui/store'
import { followStoredTexts, readStoredText, writeStoredText } from './storedTexts'

type StoredAtom<T> = WritableAtom<T, [T], void>

interface Format<T> {
  readonly parse: (text: string) => T
  /** Returns the text to store; '' removes the record. */
  readonly format: (value: T, key: string) => string
  /** Reports whether an atom takes over a value that another tab has stored. */
  readonly follows: (key: string) => boolean
}

/** storedAtoms returns the atoms of a kind by key. The browser stores the value of each under the prefix and its key. */
export function storedAtoms<T>(
  prefix: string,
  { parse, format, follows }: Format<T>,
): (key: string) => StoredAtom<T> {
  const atoms = new Map<
    string,
    { readonly stored: StoredAtom<T>; readonly receive: (text: string) => void }
  >()
  followStoredTexts((name, text) => {
    if (!name.startsWith(prefix)) return
    const key = name.slice(prefix.length)
    if (follows(key)) atoms.get(key)?.receive(text)
  })
  return (key) => {
    const known = atoms.get(key)
    if (known !== undefined) return known.stored
    const value = atom(parse(readStoredText(prefix + key)))
    const stored: StoredAtom<T> = atom(
      (get) => get(value),
      (_, set, next: T) => {
        set(value, next)
        writeStoredText(prefix + key, format(next, key))
      },
    )
    atoms.set(key, { stored, receive: (text) => store.set(value, parse(text)) })
    return stored
  }
}
