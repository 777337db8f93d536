import { keepPreviousData } from '@tanstack/react-query'
import { api, type Page, type Thread } from '@/lib/api'
import { type List, listQuery, useList } from '@/lib/api/lists'
import { useDebounced } from '@/lib/ui/debounced'
import { FOUND_THREADS, THREAD_PAGE, threadDeletions } from './threads'

/** threadPath returns the URL of a thread at the message that a search has found. */
export function threadPath(thread: Thread): string {
  const message = thread.match?.message_id
  return `/home/skill/${thread.skill.id}/chat/${thread.id}${message === undefined ? '' : `#${message}`}`
}

/** Searches titles and messages while typing. The last results stay until the next ones have arrived. */
export function useThreadSearch(query: string): List<Thread> {
  const words = useDebounced(query.trim())
  const found = useFound(
    ['search', words],
    (page, signal) => api.searchThreads(words, page, signal),
    words !== '',
  )
  return words === query.trim() ? found : { ...found, asking: true }
}

/** The archived threads. */
export function useArchivedThreads(): List<Thread> {
  return useFound(['archived'], api.listArchivedThreads, true)
}

function useFound(
  key: readonly string[],
  read: (page: Page, signal: AbortSignal) => Promise<Thread[]>,
  enabled: boolean,
): List<Thread> {
  const list = useList({
    ...listQuery([...FOUND_THREADS, ...key], THREAD_PAGE, read),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  return { ...list, items: threadDeletions.useKept(enabled ? list.items : none) }
}

const none: readonly Thread[] = []
