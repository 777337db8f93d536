import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** A call that waits until the user has signed in again, or has cancelled that. */
export interface Confirmation {
  readonly end: (confirmed: boolean) => void
}

/** The confirmation that the app requests from the user. */
export const confirmationAtom = atom<Confirmation | null>(null)

let pending: Promise<boolean> | null = null

/** confirmSignIn asks the user to sign in again, once for concurrent calls. It reports whether they did. */
export function confirmSignIn(): Promise<boolean> {
  pending ??= new Promise<boolean>((end) => store.set(confirmationAtom, { end })).finally(() => {
    pending = null
    store.set(confirmationAtom, null)
  })
  return pending
}
