import { keepPreviousData } from '@tanstack/react-query'
import { type Arguments, call, type Thread } from '@/lib/api'
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
  const found = useFound(['search', words], { q: words }, words !== '')
  return words === query.trim() ? found : { ...found, asking: true }
}

/** The archived threads. */
export function useArchivedThreads(): List<Thread> {
  return useFound(['archived'], { archived: true }, true)
}

function useFound(key: readonly string[], filter: Arguments<'listThreads'>, enabled: boolean): List<Thread> {
  const list = useList({
    ...listQuery([...FOUND_THREADS, ...key], THREAD_PAGE, (page, signal) =>
      call('listThreads', { ...filter, ...page, signal }),
    ),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  return { ...list, items: threadDeletions.useKept(enabled ? list.items : none) }
}

const none: readonly Thread[] = []
