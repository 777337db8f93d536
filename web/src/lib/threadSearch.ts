import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, type Thread } from './api'
import { THREAD_PAGE, useNotDeleted } from './threads'

/** How long typing must pause before the server is asked. */
const PAUSE_MS = 150

/** The address of a thread, at the message where a search has found its words. */
export function threadPath(thread: Thread): string {
  const message = thread.match?.message_id
  return `/home/skill/${thread.skill.id}/chat/${thread.id}${message === undefined ? '' : `#${message}`}`
}

/**
 * Searches titles and what was said, as one types. What was found last stays until the next answer is there; `asking` says
 * that it is on its way.
 */
export function useThreadSearch(query: string) {
  const words = useSettled(query.trim())
  const search = useInfiniteQuery<Thread[], Error, InfiniteData<Thread[]>, string[], number>({
    queryKey: ['thread-search', words],
    queryFn: ({ pageParam, signal }) =>
      api.searchThreads(words, { offset: pageParam, limit: THREAD_PAGE }, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < THREAD_PAGE ? undefined : pages.length * THREAD_PAGE),
    enabled: words !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const items = useNotDeleted(words === '' ? none : (search.data?.pages.flat() ?? none))
  return { ...search, items, asking: words !== query.trim() || search.isFetching }
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
