import { atom, useAtomValue } from 'jotai'
import { ApiError, type DataSource } from '@/lib/api'
import { deleteDataSource, listDataSources, type Uploaded } from '@/lib/api/dataSources'
import { PagedList, type PagedState, usePagedList } from '@/lib/api/pagedList'
import type { Live } from '@/lib/live'
import { store } from '@/lib/ui/store'
import { dismissToast, toast, toastFailure } from '@/lib/ui/toast'

/** How many data sources a page has. */
export const SOURCE_PAGE = 20

const UNDO_MS = 6000

/** The user's data sources, newest first. */
export const sourceList = new PagedList<DataSource>(SOURCE_PAGE, (page) => listDataSources(page))

/** What is gone for good. What is told of it later was said before. */
const gone = new Set<string>()

// Data sources whose deletion can still be undone: hidden here, and on the server as if nothing had happened.
interface Deletion {
  readonly timer: ReturnType<typeof setTimeout>
  /** The toast that offers to undo it. */
  readonly toast: number
}

const deletions = new Map<string, Deletion>()
const hiddenAtom = atom<ReadonlySet<string>>(new Set<string>())

/** The data sources as they are to be shown, without what is being deleted. */
export function useSources(): PagedState<DataSource> {
  const state = usePagedList(sourceList)
  const hidden = useAtomValue(hiddenAtom, { store })
  return hidden.size === 0 ? state : { ...state, items: state.items.filter((item) => !hidden.has(item.id)) }
}

/**
 * Keeps the list as the server tells it, until the returned function is called. A data source further down than the list
 * has been read so far comes with its page.
 */
export function followSources(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  const stops = [
    live.on('data_source', ({ id, data_source }) => {
      sourceList.outdate()
      if (data_source === undefined) lose(id)
      else take(data_source)
    }),
    live.onMissed(() => void sourceList.refresh()),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/**
 * Puts what the server answered to an upload into the list. If the same content was there already and was about to be
 * deleted, it stays: somebody has just asked for it.
 */
export function takeUploaded({ source, isNew }: Uploaded): void {
  sourceList.outdate()
  take(source)
  restore(source.id)
  if (isNew) return
  const waits = source.status === 'pending'
  toast(
    `「${source.filename}」と同じ内容のファイルがすでに${waits ? 'あり、読み取りを待っています' : 'あります'}。`,
  )
}

function take(source: DataSource): void {
  if (gone.has(source.id) || !belongs(source)) return
  sourceList.update((items) => [source, ...items.filter((item) => item.id !== source.id)].sort(newestFirst))
}

/**
 * Two servers may tell of one data source at the same time, and the answer to an upload may come after what was read of it
 * since. The status alone does not say which came first: one that had failed waits again when it is uploaded again, and
 * `pending` may be that or what was before it failed. The server counts the changes.
 */
function belongs(source: DataSource): boolean {
  const { items, mightHaveMore, loaded } = sourceList.state
  const known = items.find((item) => item.id === source.id)
  if (known !== undefined) return source.revision >= known.revision
  const last = items.at(-1)
  if (!loaded || !mightHaveMore || last === undefined) return loaded
  return newestFirst(source, last) < 0
}

/** The order in which the server lists them. */
function newestFirst(a: DataSource, b: DataSource): number {
  return Date.parse(b.created_at) - Date.parse(a.created_at) || (a.id < b.id ? 1 : -1)
}

function lose(id: string): void {
  gone.add(id)
  drop(id)
  // It was deleted elsewhere while it could be undone here: there is nothing to undo any more.
  restore(id)
}

function drop(id: string): void {
  sourceList.update((items) => items.filter((item) => item.id !== id))
}

/**
 * Deletes a data source after a pause in which it can be undone, at the latest when the page goes away. `onRestore` is
 * called if it is undone.
 */
export function deleteSource(id: string, onRestore?: () => void): void {
  if (deletions.has(id)) return
  const undo = () => {
    restore(id)
    onRestore?.()
  }
  const shown = toast('データソースを削除しました。', {
    action: { label: '元に戻す', run: undo },
    duration: UNDO_MS,
  })
  deletions.set(id, { timer: setTimeout(() => void commitDeletion(id, true), UNDO_MS), toast: shown })
  hide(id, true)
  window.addEventListener('pagehide', flushSourceDeletions)
}

/** Deletes at once what is waiting to be deleted. */
function flushSourceDeletions(): void {
  for (const id of [...deletions.keys()]) void commitDeletion(id, false)
}

/** Calls a deletion off. */
function restore(id: string): void {
  if (settle(id)) hide(id, false)
}

/** Ends the time in which a deletion can be undone; whether there was one. */
function settle(id: string): boolean {
  const deletion = deletions.get(id)
  if (deletion === undefined) return false
  clearTimeout(deletion.timer)
  // A toast under the pointer stays, but what it offers is over.
  dismissToast(deletion.toast)
  return deletions.delete(id)
}

async function commitDeletion(id: string, report: boolean): Promise<void> {
  settle(id)
  try {
    await deleteDataSource(id)
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 404)) {
      hide(id, false)
      if (report) toastFailure('データソースを削除できませんでした。', () => deleteSource(id))
      return
    }
  }
  sourceList.outdate()
  lose(id)
  hide(id, false)
}

function hide(id: string, hidden: boolean): void {
  const next = new Set(store.get(hiddenAtom))
  if (hidden) next.add(id)
  else next.delete(id)
  store.set(hiddenAtom, next)
}
