import { useMatch, useNavigate } from 'react-router'
import { call, type Me, type Retention, type Thread, type ThreadEditRequest } from '@/lib/api'
import { changeItems, itemsOf, type List, listQuery, useList } from '@/lib/api/lists'
import { meQuery, queryClient, reload } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { stopAll } from '@/lib/live/live'
import type { ThreadTitle } from '@/lib/stream'
import { Deletions } from '@/lib/ui/deletions'
import { formatNumber } from '@/lib/ui/numbers'
import { dismissToastsAbout, offerUndo, toastFailure } from '@/lib/ui/toast'

/** The key of the calls of tools that wait for the user's decision in the query cache. */
export const WAITING_CALLS = ['tool-calls'] as const

/** The key prefix of everything about threads that will be deleted. */
export const LEAVING = ['leaving'] as const

/** Reloads the queries about threads that will be deleted, if they were loaded. */
async function refreshLeaving(): Promise<void> {
  const known = queryClient.getQueryData<Retention>([...LEAVING, 'count'])
  if (known !== undefined && known.leaving.threads > 0)
    await queryClient.invalidateQueries({ queryKey: LEAVING })
}

/** The number of threads in a page. */
export const THREAD_PAGE = 20

/** The key prefix of the lists of searches and of the archive in the query cache. */
export const FOUND_THREADS = ['found-threads'] as const

/** The user's threads, last touched first: one list for the side column, the palette and the chat. */
export const threadsQuery = {
  ...listQuery<Thread>(['threads'], THREAD_PAGE, (page) => call('listThreads', page)),
  // Live events update it.
  staleTime: Number.POSITIVE_INFINITY,
}

/** The thread list for display, without threads that are being deleted. */
export function useThreads(): List<Thread> {
  const list = useList(threadsQuery)
  return { ...list, items: threadDeletions.useKept(list.items) }
}

/** One thread of the list, if it is loaded. */
export function findThread(id: string): Thread | undefined {
  return itemsOf(threadsQuery).find((item) => item.id === id)
}

/** withOwn sets the field `own` of a thread. Events about shared threads lack it. */
export function withOwn(thread: Thread): Thread {
  const me = queryClient.getQueryData<Me>(meQuery.queryKey)
  return { ...thread, own: thread.own !== false || (me !== undefined && thread.owner?.id === me.id) }
}

const onScreen = new Set<string>()

/** Marks a thread as shown until the returned function is called. The URL may follow later. */
export function markThreadShown(id: string): () => void {
  onScreen.add(id)
  dismissToastsAbout(id)
  return () => onScreen.delete(id)
}

/** Whether a thread is on the screen. */
export function isThreadShown(id: string): boolean {
  return onScreen.has(id)
}

/**
 * Adds or replaces a thread in the list, in order. An archived one is removed from it; a temporary one, and that of
 * another member, are not in it.
 */
export function upsertThread(thread: Thread): void {
  if (thread.expires_at !== undefined || thread.own === false) return
  const others = (items: readonly Thread[]) => items.filter((item) => item.id !== thread.id)
  changeItems(threadsQuery, (items) => (thread.archived ? others(items) : sorted([thread, ...others(items)])))
}

/** Changes fields of a thread, such as its title or whether an answer is running. */
export function patchThread(id: string, change: Partial<Thread>): void {
  changeItems(threadsQuery, (items) => {
    if (!items.some((item) => item.id === id)) return items
    const next = items.map((item) => (item.id === id ? { ...item, ...change } : item))
    return 'touched_at' in change || 'pinned' in change ? sorted(next) : next
  })
}

/** Applies a thread's title from a stream, which may be older than the known one. */
export function titleThread(id: string, title: ThreadTitle): void {
  changeItems(threadsQuery, (items) => items.map((item) => (item.id === id ? withTitle(item, title) : item)))
}

/** The thread with the given title, unless its record is newer. */
export function withTitle(thread: Thread, { text, updatedAt }: ThreadTitle): Thread {
  if (Date.parse(updatedAt) < Date.parse(thread.updated_at)) return thread
  return { ...thread, title: text, updated_at: updatedAt }
}

/**
 * Applies the server's events to the list until the returned function is called. A thread beyond the loaded part of the
 * list comes with its page.
 */
export function followThreads(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  return stopAll(
    live.on('thread', ({ id, thread }) => {
      void queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
      void refreshLeaving()
      if (thread !== undefined) return take(thread)
      dropThreads([id])
      // Another tab has deleted it while undo was possible here, so undo is no longer possible.
      threadDeletions.callOff(id)
    }),
    live.on('tool_call', () => void reload(WAITING_CALLS)),
    live.onMissed(() => {
      void reload(threadsQuery.queryKey)
      void reload(WAITING_CALLS)
    }),
  )
}

/** The ids of shared threads of other members, from events. */
const others = new Set<string>()

/** isOthers reports whether events have shown that a thread belongs to another member. */
export function isOthers(id: string): boolean {
  return others.has(id)
}

function take(changed: Thread): void {
  const thread = withOwn(changed)
  if (thread.own === false) {
    others.add(thread.id)
    return
  }
  changeItems(threadsQuery, (items, hasMore) => {
    if (!belongs(thread, items, hasMore)) return items
    const others = items.filter((item) => item.id !== thread.id)
    return thread.archived ? others : sorted([thread, ...others])
  })
}

function belongs(thread: Thread, items: readonly Thread[], hasMore: boolean): boolean {
  const known = items.find((item) => item.id === thread.id)
  // Events of two servers about one thread can arrive out of order. The newer record wins.
  if (known !== undefined) return Date.parse(thread.updated_at) >= Date.parse(known.updated_at)
  const last = items.at(-1)
  if (thread.pinned || thread.archived || !hasMore || last === undefined) return true
  return Date.parse(thread.touched_at) >= Date.parse(last.touched_at)
}

function dropThreads(ids: readonly string[]): void {
  changeItems(threadsQuery, (items) => items.filter((item) => !ids.includes(item.id)))
}

/** Changes a thread on the server. A reload right after switching must show the chosen branch. */
export function editThread(id: string, change: ThreadEditRequest): Promise<Thread> {
  return call('editThread', { thread_id: id, body: change, keepalive: true })
}

// A pending deletion is sent when the page closes.
function deleteThread(id: string): Promise<unknown> {
  return call('deleteThread', { thread_id: id, keepalive: true })
}

/** Renames or pins a thread, optimistically; a failure reverts it and shows a message. */
export async function changeThread(
  id: string,
  change: { title: string } | { pinned: boolean },
): Promise<void> {
  const before = findThread(id)
  patchThread(id, change)
  try {
    patchThread(id, await editThread(id, change))
  } catch {
    if (before) patchThread(id, { title: before.title, pinned: before.pinned })
    toastFailure(texts.changeFailed, () => void changeThread(id, change))
  }
}

/** Archives threads, which can be undone, or takes them out of the archive. */
export async function archiveThreads(ids: readonly string[], archived = true): Promise<void> {
  const results = await Promise.allSettled(ids.map((id) => editThread(id, { archived })))
  const failed = ids.filter((_, index) => results[index]?.status === 'rejected')
  for (const result of results) if (result.status === 'fulfilled') upsertThread(result.value)
  await queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
  if (failed.length > 0) toastFailure(texts.archiveFailed, () => void archiveThreads(failed, archived))
  else if (archived) offerUndo(texts.archived(ids.length), () => void archiveThreads(ids, false))
}

/** Deletes an empty thread; a failure is ignored. */
export async function discardThread(id: string): Promise<void> {
  dropThreads([id])
  await deleteThread(id).catch(() => {})
  await reload(threadsQuery.queryKey)
}

/** sorted returns threads in the server's order: pinned ones first, then last touched first. */
function sorted(items: readonly Thread[]): readonly Thread[] {
  return [...items].sort(
    (a, b) => Number(b.pinned) - Number(a.pinned) || Date.parse(b.touched_at) - Date.parse(a.touched_at),
  )
}

const texts = {
  changeFailed: 'チャットを変更できませんでした。',
  archived: (count: number) =>
    count === 1
      ? 'チャットをアーカイブしました。'
      : `${formatNumber(count)}件のチャットをアーカイブしました。`,
  archiveFailed: 'アーカイブを変更できませんでした。',
  deleted: (count: number) =>
    count === 1 ? 'チャットを削除しました。' : `${formatNumber(count)}件のチャットを削除しました。`,
  failed: 'チャットを削除できませんでした。',
} as const

/** The deletions of threads. */
export const threadDeletions = new Deletions({
  remove: deleteThread,
  onGone: (ids) => {
    dropThreads(ids)
    void queryClient.invalidateQueries({ queryKey: FOUND_THREADS })
  },
  texts,
})

/**
 * useDeleteThreads returns a function that deletes threads. If one of them is open, it navigates to the skill's page,
 * and undo navigates back.
 */
export function useDeleteThreads(): (ids: readonly string[]) => void {
  const navigate = useNavigate()
  const shown = useMatch('/home/skill/:skillId/chat/:threadId')
  return (ids) => {
    const { skillId, threadId = '' } = shown?.params ?? {}
    if (!ids.includes(threadId)) return threadDeletions.delete(ids)
    void navigate(`/home/skill/${skillId}`)
    threadDeletions.delete(ids, () => void navigate(`/home/skill/${skillId}/chat/${threadId}`))
  }
}
