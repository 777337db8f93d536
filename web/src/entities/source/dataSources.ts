import type { DataSource } from '@/lib/api'
import {
  deleteDataSource,
  listDataSources,
  readDataSource,
  stopDataSource,
  type Uploaded,
} from '@/lib/api/dataSources'
import { changeItems, type List, listQuery, useList } from '@/lib/api/lists'
import { readAnew } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { Deletions } from '@/lib/ui/deletions'
import { toast } from '@/lib/ui/toast'

/** How many data sources a page has. */
export const SOURCE_PAGE = 20

/** The user's data sources, newest first. */
export const sourcesQuery = {
  ...listQuery<DataSource>(['data-sources'], SOURCE_PAGE, (page) => listDataSources(page)),
  // Live events keep it up to date.
  staleTime: Number.POSITIVE_INFINITY,
}

/** Ids that were deleted: an event that arrives later is older than the deletion. */
const gone = new Set<string>()

/** The data sources as they are to be shown, without what is being deleted. */
export function useSources(): List<DataSource> {
  const list = useList(sourcesQuery)
  return { ...list, items: sourceDeletions.useKept(list.items) }
}

/**
 * Keeps the list as the server tells it, until the returned function is called. A data source further down than the list
 * has been read so far comes with its page.
 */
export function followSources(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  const stops = [
    live.on('data_source', ({ id, data_source }) => {
      if (data_source === undefined) lose([id])
      else take(data_source)
    }),
    live.onMissed(() => void readAnew(sourcesQuery.queryKey)),
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
  take(source)
  sourceDeletions.callOff(source.id)
  if (isNew) return
  const waits = source.status === 'pending'
  toast(
    `「${source.filename}」と同じ内容のファイルがすでに${waits ? 'あり、読み取りを待っています' : 'あります'}。`,
  )
}

/** Stops the reading of a data source, or has it read once more: the list shows what the server answers. */
export async function changeReading(source: DataSource): Promise<void> {
  const change = source.status === 'failed' ? readDataSource : stopDataSource
  try {
    take(await change(source.id))
  } catch {
    toast('読み取りの状態を変更できませんでした。もう一度お試しください。')
  }
}

function take(source: DataSource): void {
  changeItems(sourcesQuery, (items, hasMore) => {
    if (gone.has(source.id) || !belongs(source, items, hasMore)) return items
    return [source, ...items.filter((item) => item.id !== source.id)].sort(newestFirst)
  })
}

/**
 * Two servers may tell of one data source at the same time, and the answer to an upload may come after what was read of it
 * since. The status alone does not say which came first: one that had failed waits again when it is uploaded again, and
 * `pending` may be that or what was before it failed. The server counts the changes.
 */
function belongs(source: DataSource, items: readonly DataSource[], hasMore: boolean): boolean {
  const known = items.find((item) => item.id === source.id)
  if (known !== undefined) return source.revision >= known.revision
  const last = items.at(-1)
  return !hasMore || last === undefined || newestFirst(source, last) < 0
}

/** The order in which the server lists them. */
function newestFirst(a: DataSource, b: DataSource): number {
  return Date.parse(b.created_at) - Date.parse(a.created_at) || (a.id < b.id ? 1 : -1)
}

function lose(ids: readonly string[]): void {
  for (const id of ids) gone.add(id)
  changeItems(sourcesQuery, (items) => items.filter((item) => !gone.has(item.id)))
  // One that was deleted elsewhere while it could be undone here: there is nothing to undo any more.
  for (const id of ids) sourceDeletions.callOff(id)
}

/** The deletions of data sources. */
export const sourceDeletions = new Deletions({
  remove: deleteDataSource,
  onGone: lose,
  texts: {
    deleted: () => 'データソースを削除しました。',
    failed: 'データソースを削除できませんでした。',
  },
})
