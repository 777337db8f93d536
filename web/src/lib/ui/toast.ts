import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** A short message at the foot of the screen, with at most one thing to do. */
export interface Toast {
  id: number
  message: string
  tone: 'plain' | 'danger' | 'success'
  /** The thread it is about: it goes when that is opened. */
  threadId?: string
  action?: { label: string; run: () => void }
  /** How long it stays, in milliseconds; it stays longer under the pointer or the focus. */
  duration: number
}

const toasts = atom<readonly Toast[]>([])
let lastId = 0

/** The toasts on the screen, oldest first. */
export const toastsAtom = atom((get) => get(toasts))

/** Shows a toast and returns its id. */
export function toast(message: string, options: Partial<Omit<Toast, 'id' | 'message'>> = {}): number {
  lastId += 1
  const item: Toast = {
    tone: 'plain',
    duration: options.action ? 8000 : 5000,
    ...options,
    id: lastId,
    message,
  }
  // What is said again takes the place of what was said, unless there is something to do about each.
  const others = store.get(toasts).filter((other) => item.action || other.action || other.message !== message)
  store.set(toasts, [...others.slice(-2), item])
  return item.id
}

/** How long something can be undone, in milliseconds. */
export const UNDO_MS = 6000

/** Says what was done, with 元に戻す to undo it. */
export function offerUndo(message: string, undo: () => void): number {
  return toast(message, { action: { label: '元に戻す', run: undo }, duration: UNDO_MS })
}

/** Takes a toast away. */
export function dismissToast(id: number): void {
  store.set(
    toasts,
    store.get(toasts).filter((item) => item.id !== id),
  )
}

/** Takes the toasts about a thread away. */
export function dismissToastsAbout(threadId: string): void {
  store.set(
    toasts,
    store.get(toasts).filter((item) => item.threadId !== threadId),
  )
}

/** Says that something failed, with 再試行 to try it again. */
export function toastFailure(message: string, retry?: () => void): number {
  return toast(message, { tone: 'danger', ...(retry && { action: { label: '再試行', run: retry } }) })
}
