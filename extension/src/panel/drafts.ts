import { atom, getDefaultStore, useAtomValue } from 'jotai'

/** The questions that were typed and not sent, by tab. They outlive their field, which the panel often replaces. */
const draftsAtom = atom<ReadonlyMap<number, string>>(new Map<number, string>())

const store = getDefaultStore()

/** useDraft returns the question that was typed for a tab. */
export function useDraft(tabId: number): string {
  return useAtomValue(draftsAtom).get(tabId) ?? ''
}

export function setDraft(tabId: number, text: string): void {
  store.set(draftsAtom, new Map(store.get(draftsAtom)).set(tabId, text))
}

export function deleteDrafts(): void {
  store.set(draftsAtom, new Map())
}
