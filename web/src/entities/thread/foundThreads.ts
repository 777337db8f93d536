import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, type Page, type Thread } from '@/lib/api'
import { FOUND_THREADS, THREAD_PAGE, useNotDeleted } from './threads'

/** How long typing must pause before the server is asked. */
const PAUSE_MS = 150

/** The address of a thread, at the message where a search has found its words. */
export function threadPath(thread: Thread): string {
  const message = thread.match?.message_id
  return `/home/skill/${thread.skill.id}/chat/${thread.id}${message === undefined ? '' : `#${message}`}`
}

/** Threads beside the list of the side column, page by page. `asking`: an answer is on its way. */
export interface FoundThreads {
  readonly items: readonly Thread[]
  readonly asking: boolean
  readonly error: Error | null
  readonly hasMore: boolean
  readonly loadMore: () => void
  readonly retry: () => void
}

/** Searches titles and what was said, as one types. What was found last stays until the next answer is there. */
export function useThreadSearch(query: string): FoundThreads {
  const words = useSettled(query.trim())
  const found = useFound(
    ['search', words],
    (page, signal) => api.searchThreads(words, page, signal),
    words !== '',
  )
  return words === query.trim() ? found : { ...found, asking: true }
}

/** The archived threads. */
export function useArchivedThreads(): FoundThreads {
  return useFound(['archived'], api.listArchivedThreads, true)
}

function useFound(
  key: readonly string[],
  read: (page: Page, signal: AbortSignal) => Promise<Thread[]>,
  enabled: boolean,
): FoundThreads {
  const { data, error, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery<
    Thread[],
    Error,
    InfiniteData<Thread[]>,
    string[],
    number
  >({
    queryKey: [...FOUND_THREADS, ...key],
    queryFn: ({ pageParam, signal }) => read({ offset: pageParam, limit: THREAD_PAGE }, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < THREAD_PAGE ? undefined : pages.length * THREAD_PAGE),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  return {
    items: useNotDeleted(enabled ? (data?.pages.flat() ?? none) : none),
    asking: isFetching,
    error,
    hasMore: hasNextPage,
    loadMore: () => void fetchNextPage(),
    retry: () => void refetch(),
  }
}

const none: readonly Thread[] = []

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    // An emptied field shows the list at once.
    const timer = setTimeout(() => setSettled(value), value === '' ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
