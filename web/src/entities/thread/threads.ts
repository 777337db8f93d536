import { atom, useAtomValue } from 'jotai'
import { ApiError, api, type Thread } from '@/lib/api'
import { PagedList, type PagedState, usePagedList } from '@/lib/api/pagedList'
import { queryClient } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import type { ThreadTitle } from '@/lib/stream'
import { store } from '@/lib/ui/store'
import { dismissToast, dismissToastsAbout, toast, toastFailure } from '@/lib/ui/toast'

/** How many threads a page has. */
export const THREAD_PAGE = 20

const UNDO_MS = 6000

/** How the lists begin in the query cache that searches and the archive have brought. */
export const FOUND_THREADS = ['found-threads'] as const

/** The user's threads, last touched first: one list for the side column, the palette and the chat. */
export const threadList = new PagedList<Thread>(THREAD_PAGE, (page) => api.listThreads(page))

// Threads whose deletion can still be undone: hidden here, and on the server as if nothing had happened.
interface Deletion {
  readonly ids: readonly string[]
  readonly timer: ReturnType<typeof setTimeout>
  /** The toast that offers to undo it. */
  readonly toast: number
}

const deletions = new Set<Deletion>()
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
  return [...deletions].some(({ ids }) => ids.includes(id))
}

const onScreen = new Set<string>()

/** Says that a thread is on the screen, until the returned function is called. The address may follow later. */
export function lookAt(id: string): () => void {
  onScreen.add(id)
  dismissToastsAbout(id)
  return () => onScreen.delete(id)
}

/** Whether a thread is on the screen. */
export function isLookedAt(id: string): boolean {
  return onScreen.has(id)
}

/** Puts a thread into the list, or in place of what is there, in its order. An archived one leaves it. */
export function upsertThread(thread: Thread): void {
  const others = (items: readonly Thread[]) => items.filter((item) => item.id !== thread.id)
  threadList.update((items) => (thread.archived ? others(items) : sorted([thread, ...others(items)])))
}

/** Changes what is known of a thread, such as its title or whether an answer is being written. */
export function patchThread(id: string, change: Partial<Thread>): void {
  threadList.update((items) => {
    if (!items.some((item) => item.id === id)) return items
    const next = items.map((item) => (item.id === id ? { ...item, ...change } : item))
    return 'touched_at' in change || 'pinned' in change ? sorted(next) : next
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
      void queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
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
  if (thread.pinned || thread.archived) return loaded
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

/** Changes a thread's title or pins it, here at once; a failure takes that back and says so. */
export async function changeThread(
  id: string,
  change: { title: string } | { pinned: boolean },
): Promise<void> {
  const before = findThread(id)
  patchThread(id, change)
  try {
    patchThread(id, await api.editThread(id, change))
    threadList.outdate()
  } catch {
    if (before) patchThread(id, { title: before.title, pinned: before.pinned })
    toastFailure(texts.changeFailed, () => void changeThread(id, change))
  }
}

/** Archives threads or takes them back, with a way to undo the first. */
export async function archiveThreads(ids: readonly string[], archived = true): Promise<void> {
  const results = await Promise.allSettled(ids.map((id) => api.editThread(id, { archived })))
  const failed = ids.filter((_, index) => results[index]?.status === 'rejected')
  for (const result of results) if (result.status === 'fulfilled') upsertThread(result.value)
  threadList.outdate()
  await queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
  if (failed.length > 0) toastFailure(texts.archiveFailed, () => void archiveThreads(failed, archived))
  else if (archived)
    toast(texts.archived(ids.length), {
      action: { label: texts.undo, run: () => void archiveThreads(ids, false) },
      duration: UNDO_MS,
    })
}

/**
 * Deletes threads after a pause in which it can be undone. `onRestore` is called if they come back, so that the screen
 * that left one can return.
 */
export function deleteThreads(ids: readonly string[], onRestore?: () => void): void {
  const wanted = ids.filter((id) => !isBeingDeleted(id))
  if (wanted.length === 0) return
  hide(wanted, true)
  const undo = () => {
    clearTimeout(deletion.timer)
    deletions.delete(deletion)
    hide(wanted, false)
    onRestore?.()
  }
  const deletion: Deletion = {
    ids: wanted,
    timer: setTimeout(() => void commitDeletion(deletion, true), UNDO_MS),
    toast: toast(texts.deleted(wanted.length), {
      action: { label: texts.undo, run: undo },
      duration: UNDO_MS,
    }),
  }
  deletions.add(deletion)
}

/** Takes a thread away that nothing was written in; that it stays if this fails is not worth a word. */
export async function discardThread(id: string): Promise<void> {
  dropThread(id)
  await api.deleteThread(id).catch(() => {})
  await threadList.refresh()
}

/** Deletes at once what is waiting to be deleted: called when the page goes away. */
export function flushDeletions(): void {
  for (const deletion of deletions) {
    clearTimeout(deletion.timer)
    void commitDeletion(deletion, false)
  }
}

async function commitDeletion(deletion: Deletion, report: boolean): Promise<void> {
  // A toast under the pointer stays, but what it offers is over.
  dismissToast(deletion.toast)
  deletions.delete(deletion)
  const gone = await Promise.all(deletion.ids.map(isGone))
  const failed = deletion.ids.filter((_, index) => !gone[index])
  for (const id of deletion.ids) if (!failed.includes(id)) dropThread(id)
  threadList.outdate()
  void queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
  hide(deletion.ids, false)
  if (failed.length > 0 && report) toastFailure(texts.deleteFailed, () => deleteThreads(failed))
}

/** Deletes a thread on the server and answers whether it is not there any more. */
async function isGone(id: string): Promise<boolean> {
  try {
    await api.deleteThread(id)
    return true
  } catch (cause) {
    return cause instanceof ApiError && cause.status === 404
  }
}

function hide(ids: readonly string[], hidden: boolean): void {
  const next = new Set(store.get(hiddenAtom))
  for (const id of ids) {
    if (hidden) next.add(id)
    else next.delete(id)
  }
  store.set(hiddenAtom, next)
}

/** As the server lists them: pinned ones first, then last touched first. */
function sorted(items: readonly Thread[]): readonly Thread[] {
  return [...items].sort(
    (a, b) => Number(b.pinned) - Number(a.pinned) || Date.parse(b.touched_at) - Date.parse(a.touched_at),
  )
}

const texts = {
  changeFailed: 'スレッドを変更できませんでした。',
  archived: (count: number) =>
    count === 1 ? 'スレッドをアーカイブしました。' : `${count}件のスレッドをアーカイブしました。`,
  archiveFailed: 'アーカイブを変更できませんでした。',
  deleted: (count: number) =>
    count === 1 ? 'スレッドを削除しました。' : `${count}件のスレッドを削除しました。`,
  deleteFailed: 'スレッドを削除できませんでした。',
  undo: '元に戻す',
} as const
