import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** Toast is a short message at the bottom of the screen, with at most one action. */
export interface Toast {
  id: number
  message: string
  tone: 'plain' | 'danger' | 'success'
  /** The id of the toast's thread, which has one toast at most. It is removed when the thread is opened. */
  threadId?: string
  action?: { label: string; run: () => void }
  /** How long it stays, in milliseconds. It stays longer under the pointer or the focus. */
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
  const others = store.get(toasts).filter((other) => !replaces(item, other))
  store.set(toasts, [...others.slice(-2), item])
  return item.id
}

/** Whether a toast replaces another: that of its thread, or the same message, unless one of them has an action. */
function replaces(item: Toast, other: Toast): boolean {
  if (item.threadId !== undefined) return item.threadId === other.threadId
  return !item.action && !other.action && item.message === other.message
}

/** The time to undo, in milliseconds. */
export const UNDO_MS = 6000

/** Shows a message with 元に戻す. */
export function offerUndo(message: string, undo: () => void): number {
  return toast(message, { action: { label: '元に戻す', run: undo }, duration: UNDO_MS })
}

/** Removes a toast. */
export function dismissToast(id: number): void {
  store.set(toasts, (items) => items.filter((item) => item.id !== id))
}

/** Removes the toasts about a thread. */
export function dismissToastsAbout(threadId: string): void {
  store.set(toasts, (items) => items.filter((item) => item.threadId !== threadId))
}

/** Shows an error with やり直す. */
export function toastFailure(message: string, retry?: () => void): number {
  return toast(message, { tone: 'danger', ...(retry && { action: { label: 'やり直す', run: retry } }) })
}
