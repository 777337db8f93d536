import { atom, useAtomValue } from 'jotai'
import { ApiError, api, type Thread } from './api'
import type { Live } from './live'
import { PagedList, type PagedState, usePagedList } from './pagedList'
import { queryClient } from './queries'
import { store } from './store'
import type { ThreadTitle } from './stream'
import { dismissToast, toast, toastFailure } from './toast'

/** How many threads a page has. */
export const THREAD_PAGE = 20

const UNDO_MS = 6000

/** The user's threads, last touched first: one list for the side column, the palette and the chat. */
export const threadList = new PagedList<Thread>(THREAD_PAGE, (page) => api.listThreads(page))

// Threads whose deletion can still be undone: hidden here, and on the server as if nothing had happened.
interface Deletion {
  readonly timer: ReturnType<typeof setTimeout>
  /** The toast that offers to undo it. */
  readonly toast: number
}

const deletions = new Map<string, Deletion>()
const hiddenAtom = atom<ReadonlySet<string>>(new Set<string>())

/** The thread list as it is to be shown, without what is being deleted. */
export function useThreads(): PagedState<Thread> {
  const state = usePagedList(threadList)
  return { ...state, items: useNotDeleted(state.items) }
}

/** Threads without those that are being deleted. */
export function useNotDeleted(threads: readonly Thread[]): readonly Thread[] {
  const hidden = useAtomValue(hiddenAtom, { store })
  return hidden.size === 0 ? threads : threads.filter((thread) => !hidden.has(thread.id))
}

/** One thread of the list, if it is at hand. */
export function findThread(id: string): Thread | undefined {
  return threadList.state.items.find((item) => item.id === id)
}

/** Whether a thread is as good as gone: its deletion can only be undone. */
export function isBeingDeleted(id: string): boolean {
  return deletions.has(id)
}

const onScreen = new Set<string>()

/** Says that a thread is on the screen, until the returned function is called. The address may follow later. */
export function lookAt(id: string): () => void {
  onScreen.add(id)
  return () => onScreen.delete(id)
}

/** Whether a thread is on the screen. */
export function isLookedAt(id: string): boolean {
  return onScreen.has(id)
}

/** Puts a thread into the list, or in place of what is there, in the order of the last touch. */
export function upsertThread(thread: Thread): void {
  threadList.update((items) => sorted([thread, ...items.filter((item) => item.id !== thread.id)]))
}

/** Changes what is known of a thread, such as its title or whether an answer is being written. */
export function patchThread(id: string, change: Partial<Thread>): void {
  threadList.update((items) => {
    if (!items.some((item) => item.id === id)) return items
    const next = items.map((item) => (item.id === id ? { ...item, ...change } : item))
    return 'touched_at' in change ? sorted(next) : next
  })
}

/** Takes what a stream tells of a thread's title, which may be older than what is known. */
export function titleThread(id: string, title: ThreadTitle): void {
  const known = findThread(id)
  if (known !== undefined) patchThread(id, withTitle(known, title))
}

/** The thread with a title that was told, unless it is known as it was later. */
export function withTitle(thread: Thread, { text, updatedAt }: ThreadTitle): Thread {
  if (Date.parse(updatedAt) < Date.parse(thread.updated_at)) return thread
  return { ...thread, title: text, updated_at: updatedAt }
}

/**
 * Keeps the list as the server tells it, until the returned function is called. A thread further down than the list
 * has been read so far comes with its page.
 */
export function followThreads(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  const stops = [
    live.on('thread', ({ id, thread }) => {
      threadList.outdate()
      void queryClient.invalidateQueries({ queryKey: ['thread-search'] })
      if (thread === undefined) dropThread(id)
      else if (belongs(thread)) upsertThread(thread)
    }),
    live.onMissed(() => void threadList.refresh()),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function belongs(thread: Thread): boolean {
  const { items, mightHaveMore, loaded } = threadList.state
  const known = findThread(thread.id)
  // Two servers may tell of one thread at the same time; the later record is the true one.
  if (known !== undefined) return Date.parse(thread.updated_at) >= Date.parse(known.updated_at)
  const last = items.at(-1)
  if (!loaded || !mightHaveMore || last === undefined) return loaded
  return Date.parse(thread.touched_at) >= Date.parse(last.touched_at)
}

function dropThread(id: string): void {
  threadList.update((items) => items.filter((item) => item.id !== id))
}

/** Moves a thread to the top, here at once and on the server; a failure there is not worth a word. */
export function touchThread(id: string): void {
  patchThread(id, { touched_at: new Date().toISOString() })
  api.touchThread(id).then(upsertThread, () => {})
}

/** Gives a thread another title, here at once; a failure puts the old one back and says so. */
export async function renameThread(id: string, title: string): Promise<void> {
  const before = findThread(id)
  patchThread(id, { title })
  try {
    patchThread(id, await api.editThread(id, { title }))
    threadList.outdate()
  } catch {
    if (before) patchThread(id, { title: before.title })
    toastFailure('スレッドの名前を変更できませんでした。', () => void renameThread(id, title))
  }
}

/**
 * Deletes a thread after a pause in which it can be undone. `onRestore` is called if it comes back, so that the screen
 * that left it can return.
 */
export function deleteThread(id: string, onRestore?: () => void): void {
  if (deletions.has(id)) return
  hide(id, true)
  const undo = () => {
    clearTimeout(deletions.get(id)?.timer)
    deletions.delete(id)
    hide(id, false)
    onRestore?.()
  }
  deletions.set(id, {
    timer: setTimeout(() => void commitDeletion(id, true), UNDO_MS),
    toast: toast('スレッドを削除しました。', {
      action: { label: '元に戻す', run: undo },
      duration: UNDO_MS,
    }),
  })
}

/** Takes a thread away that nothing was written in; that it stays if this fails is not worth a word. */
export async function discardThread(id: string): Promise<void> {
  dropThread(id)
  await api.deleteThread(id).catch(() => {})
  await threadList.refresh()
}

/** Deletes at once what is waiting to be deleted: called when the page goes away. */
export function flushDeletions(): void {
  for (const id of [...deletions.keys()]) {
    clearTimeout(deletions.get(id)?.timer)
    void commitDeletion(id, false)
  }
}

async function commitDeletion(id: string, report: boolean): Promise<void> {
  // A toast under the pointer stays, but what it offers is over.
  const offer = deletions.get(id)?.toast
  if (offer !== undefined) dismissToast(offer)
  deletions.delete(id)
  try {
    await api.deleteThread(id)
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 404)) {
      hide(id, false)
      if (report) toastFailure('スレッドを削除できませんでした。', () => deleteThread(id))
      return
    }
  }
  dropThread(id)
  threadList.outdate()
  hide(id, false)
}

function hide(id: string, hidden: boolean): void {
  const next = new Set(store.get(hiddenAtom))
  if (hidden) next.add(id)
  else next.delete(id)
  store.set(hiddenAtom, next)
}

function sorted(items: readonly Thread[]): readonly Thread[] {
  return [...items].sort((a, b) => Date.parse(b.touched_at) - Date.parse(a.touched_at))
}
