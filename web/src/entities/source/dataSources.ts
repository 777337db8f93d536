import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { DataSource } from '@/lib/api'
import {
  deleteDataSource,
  getDataSource,
  listDataSources,
  readDataSource,
  searchDataSources,
  stopDataSource,
  type Uploaded,
} from '@/lib/api/dataSources'
import { changeItems, itemsOf, type List, listQuery, useList } from '@/lib/api/lists'
import { changeData, ownUsageQuery, queryClient, readAnew } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { Deletions } from '@/lib/ui/deletions'
import { useSettled } from '@/lib/ui/settled'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/** How many data sources a page has. */
export const SOURCE_PAGE = 20

/** How the lists that searches have brought begin in the query cache. */
const FOUND_SOURCES = ['found-data-sources'] as const

/** How single data sources begin in the query cache. */
const ONE_SOURCE = ['data-source'] as const

/** The user's data sources, newest first. */
export const sourcesQuery = {
  ...listQuery<DataSource>(['data-sources'], SOURCE_PAGE, (page) => listDataSources(page)),
  // Live events keep it up to date.
  staleTime: Number.POSITIVE_INFINITY,
}

/** One data source, kept up to date by live events. */
export function sourceQuery(id: string) {
  return queryOptions({
    queryKey: [...ONE_SOURCE, id],
    queryFn: ({ signal }) => getDataSource(id, signal),
    initialData: () => itemsOf(sourcesQuery).find((item) => item.id === id),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Ids that were deleted: an event that arrives later is older than the deletion. */
const gone = new Set<string>()

/** The data sources as they are to be shown, without what is being deleted. */
export function useSources(): List<DataSource> {
  const list = useList(sourcesQuery)
  return { ...list, items: sourceDeletions.useKept(list.items) }
}

/**
 * The data sources whose name or text has all words of a query, newest first, as one types; without a query, all of
 * them. What was found last stays until the next answer has come.
 */
export function useSourceSearch(query: string): List<DataSource> {
  const words = useSettled(query.trim())
  const all = useSources()
  const found = useList({
    ...listQuery<DataSource>([...FOUND_SOURCES, words], SOURCE_PAGE, (page, signal) =>
      searchDataSources(words, page, signal),
    ),
    enabled: words !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const kept = sourceDeletions.useKept(found.items)
  if (query.trim() === '') return all
  return { ...found, items: kept, asking: found.asking || words !== query.trim() }
}

/** One data source as it is now. */
export function useSource(id: string) {
  return useQuery(sourceQuery(id), queryClient)
}

/**
 * Keeps the data sources as the server tells them, until the returned function is called. One further down than the
 * list has been read so far comes with its page.
 */
export function followSources(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  const stops = [
    live.on('data_source', ({ id, data_source }) => {
      if (data_source === undefined) drop([id])
      else take(data_source)
    }),
    live.onMissed(() => {
      void readAnew(sourcesQuery.queryKey)
      void readAnew(ONE_SOURCE)
      void readAnew(FOUND_SOURCES)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/**
 * Puts the answer to an upload into the list. If the same content was there already and was about to be deleted, it
 * stays: somebody has just asked for it.
 */
export function takeUploaded({ source, isNew }: Uploaded, isQuiet = false): void {
  take(source)
  refreshUsage()
  sourceDeletions.callOff(source.id)
  if (!isNew && !isQuiet) toast(texts.alreadyThere(source.filename, source.status === 'pending'))
}

/** Stops the reading of a data source, or has one that failed read again. */
export async function changeReading(source: DataSource): Promise<void> {
  const change = source.status === 'failed' ? readDataSource : stopDataSource
  try {
    take(await change(source.id))
  } catch {
    toast(texts.readingUnchanged)
  }
}

/** Remembers data sources that came with something else, so that `useSource` has them at once. */
export function rememberSources(sources: readonly DataSource[]): void {
  for (const source of sources) {
    queryClient.setQueryData<DataSource>(sourceQuery(source.id).queryKey, (known) =>
      known === undefined ? source : newer(known, source),
    )
  }
}

function take(source: DataSource): void {
  if (gone.has(source.id)) return
  changeItems(sourcesQuery, (items, hasMore) => {
    if (!belongs(source, items, hasMore)) return items
    return [source, ...items.filter((item) => item.id !== source.id)].sort(newestFirst)
  })
  changeData<DataSource>(sourceQuery(source.id).queryKey, (known) => newer(known, source))
  for (const { queryKey } of foundLists())
    changeItems<DataSource>({ queryKey } as never, (items) =>
      items.map((item) => (item.id === source.id ? newer(item, source) : item)),
    )
  // Now its text can be found.
  if (source.status === 'success') void queryClient.invalidateQueries({ queryKey: FOUND_SOURCES })
}

function foundLists() {
  return queryClient.getQueryCache().findAll({ queryKey: FOUND_SOURCES })
}

/** The later one of two records, with the place where a search has found its words. */
function newer(known: DataSource, told: DataSource): DataSource {
  if (told.revision < known.revision) return known
  return known.match === undefined ? told : { ...told, match: known.match }
}

/**
 * Two servers may tell of one data source at the same time, and the answer to an upload may come after what was read of
 * it since. The status alone does not say which came first: one that had failed waits again when it is uploaded again,
 * and `pending` may be that or what was before it failed. The server counts the changes.
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

function drop(ids: readonly string[]): void {
  for (const id of ids) gone.add(id)
  changeItems(sourcesQuery, (items) => items.filter((item) => !gone.has(item.id)))
  void queryClient.invalidateQueries({ queryKey: FOUND_SOURCES })
  refreshUsage()
  for (const id of ids) {
    // The server says that it is gone.
    void queryClient.invalidateQueries({ queryKey: sourceQuery(id).queryKey })
    // If it was deleted elsewhere while its deletion could be undone here, there is nothing to undo any more.
    sourceDeletions.callOff(id)
  }
}

function refreshUsage(): void {
  void queryClient.invalidateQueries({ queryKey: ownUsageQuery.queryKey })
}

/** The deletions of data sources. */
export const sourceDeletions = new Deletions({
  remove: deleteDataSource,
  onGone: drop,
  texts: { deleted: texts.deleted, failed: texts.deleteFailed },
})
