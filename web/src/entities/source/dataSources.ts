import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { call, type DataSource } from '@/lib/api'
import type { Uploaded } from '@/lib/api/dataSources'
import { changeItems, itemsOf, type List, listQuery, useList } from '@/lib/api/lists'
import { changeData, ownUsageQuery, queryClient, reload } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { stopAll } from '@/lib/live/live'
import { useDebounced } from '@/lib/ui/debounced'
import { Deletions } from '@/lib/ui/deletions'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/** SOURCE_PAGE is the number of data sources in a page. */
const SOURCE_PAGE = 20

/** The key prefix of search results in the query cache. */
const FOUND_SOURCES = ['found-data-sources'] as const

/** The key prefix of single data sources in the query cache. */
const ONE_SOURCE = ['data-source'] as const

/** The user's data sources, newest first. */
export const sourcesQuery = {
  ...listQuery<DataSource>(['data-sources'], SOURCE_PAGE, (page) => call('listDataSources', page)),
  // Live events keep it up to date.
  staleTime: Number.POSITIVE_INFINITY,
}

/** One data source, kept up to date by live events. */
export function sourceQuery(id: string) {
  return queryOptions({
    queryKey: [...ONE_SOURCE, id],
    queryFn: ({ signal }) => call('getDataSource', { data_source_id: id, signal }),
    initialData: () => itemsOf(sourcesQuery).find((item) => item.id === id),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The ids of deleted data sources. Later events about them are outdated. */
const gone = new Set<string>()

/** useSources returns the data sources for display, without those being deleted. */
export function useSources(): List<DataSource> {
  const list = useList(sourcesQuery)
  return { ...list, items: sourceDeletions.useKept(list.items) }
}

/**
 * useSourceSearch searches names and texts while typing, for all words of a query, newest first. Without a query it
 * returns all data sources. The last results stay until the next ones have arrived.
 */
export function useSourceSearch(query: string): List<DataSource> {
  const words = useDebounced(query.trim())
  const all = useSources()
  const found = useList({
    ...listQuery<DataSource>([...FOUND_SOURCES, words], SOURCE_PAGE, (page, signal) =>
      call('listDataSources', { q: words, ...page, signal }),
    ),
    enabled: words !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const kept = sourceDeletions.useKept(found.items)
  if (query.trim() === '') return all
  return { ...found, items: kept, asking: found.asking || words !== query.trim() }
}

/** useSource returns the current state of a data source. */
export function useSource(id: string) {
  return useQuery(sourceQuery(id), queryClient)
}

/**
 * followSources applies the server's events to the data sources until the returned function is called. A data source
 * beyond the loaded part of the list comes with its page.
 */
export function followSources(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  return stopAll(
    live.on('data_source', ({ id, data_source }) => {
      if (data_source === undefined) drop([id])
      else take(data_source)
    }),
    live.onMissed(() => {
      void reload(sourcesQuery.queryKey)
      void reload(ONE_SOURCE)
      void reload(FOUND_SOURCES)
    }),
  )
}

/**
 * addUploaded adds an uploaded data source to the list. If the same content existed and was being deleted, this
 * cancels the deletion.
 */
export function addUploaded({ source, isNew }: Uploaded, isQuiet = false): void {
  take(source)
  refreshUsage()
  sourceDeletions.callOff(source.id)
  if (!isNew && !isQuiet) toast(texts.alreadyThere(source.filename, source.status === 'pending'))
}

/** changeReading stops the parsing of a data source, or restarts a failed one. It may be a file of a project. */
export async function changeReading(source: DataSource): Promise<void> {
  const change = source.status === 'failed' ? 'readDataSource' : 'stopDataSource'
  try {
    take(await call(change, { data_source_id: source.id }), false)
  } catch {
    toast(texts.readingUnchanged)
  }
}

/** rememberSources stores data sources from other responses, so that `useSource` has them at once. */
export function rememberSources(sources: readonly DataSource[]): void {
  for (const source of sources) {
    queryClient.setQueryData<DataSource>(sourceQuery(source.id).queryKey, (known) =>
      known === undefined ? source : newer(known, source),
    )
  }
}

/** Stores a newer record of a data source. Only the user's own data sources are added to the list. */
function take(source: DataSource, own = true): void {
  if (gone.has(source.id)) return
  changeItems(sourcesQuery, (items, hasMore) => {
    if (!own && !items.some(({ id }) => id === source.id)) return items
    if (!belongs(source, items, hasMore)) return items
    return [source, ...items.filter((item) => item.id !== source.id)].sort(newestFirst)
  })
  changeData<DataSource>(sourceQuery(source.id).queryKey, (known) => newer(known, source))
  for (const { queryKey } of foundLists())
    changeItems<DataSource>({ queryKey } as never, (items) =>
      items.map((item) => (item.id === source.id ? newer(item, source) : item)),
    )
  // The search can now find its text. Events of the stage `embedding` follow.
  if (source.status === 'success' && source.progress === undefined)
    void queryClient.invalidateQueries({ queryKey: FOUND_SOURCES })
}

function foundLists() {
  return queryClient.getQueryCache().findAll({ queryKey: FOUND_SOURCES })
}

/** newer returns the newer of two records, and keeps the position of the search match. */
function newer(known: DataSource, told: DataSource): DataSource {
  if (told.revision < known.revision) return known
  return known.match === undefined ? told : { ...told, match: known.match }
}

/**
 * belongs reports whether a record is newer than the known one, or a new one within the loaded part of the list.
 * Records can arrive out of order: from two servers, or from an upload and a later event. The status does not give the
 * order, because a failed data source becomes `pending` again when it is uploaded again. So the server counts the
 * revisions.
 */
function belongs(source: DataSource, items: readonly DataSource[], hasMore: boolean): boolean {
  const known = items.find((item) => item.id === source.id)
  if (known !== undefined) return source.revision >= known.revision
  const last = items.at(-1)
  return !hasMore || last === undefined || newestFirst(source, last) < 0
}

/** newestFirst compares in the server's order. */
function newestFirst(a: DataSource, b: DataSource): number {
  return Date.parse(b.created_at) - Date.parse(a.created_at) || (a.id < b.id ? 1 : -1)
}

function drop(ids: readonly string[]): void {
  for (const id of ids) gone.add(id)
  changeItems(sourcesQuery, (items) => items.filter((item) => !gone.has(item.id)))
  void queryClient.invalidateQueries({ queryKey: FOUND_SOURCES })
  refreshUsage()
  for (const id of ids) {
    // The server reports that it is deleted.
    void queryClient.invalidateQueries({ queryKey: sourceQuery(id).queryKey })
    // A data source that another tab has deleted can no longer be restored by undo.
    sourceDeletions.callOff(id)
  }
}

function refreshUsage(): void {
  void queryClient.invalidateQueries({ queryKey: ownUsageQuery.queryKey })
}

/** The deletions of data sources. */
export const sourceDeletions = new Deletions({
  // A pending deletion is sent when the page closes.
  remove: (id) => call('deleteDataSource', { data_source_id: id, keepalive: true }),
  onGone: drop,
  texts: { deleted: texts.deleted, failed: texts.deleteFailed },
})
