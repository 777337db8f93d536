import { useQuery } from '@tanstack/react-query'
import { type RefObject, useId } from 'react'
import { useMatch } from 'react-router'
import { EmptyState, RetryNote } from '@/components/States'
import { FOUND_THREADS, threadDeletions, useThreads } from '@/entities/thread/threads'
import { call, type Thread } from '@/lib/api'
import { dateGroup } from '@/lib/ui/dates'
import { useListEnd } from '@/lib/ui/scrollTrigger'
import { Skeletons } from './Skeletons'
import styles from './ThreadColumn.module.css'
import { ThreadRows } from './ThreadRows'
import { texts } from './texts'

/** The threads by date, loading more near the end. */
export function ThreadGroups({ scroller }: { scroller: RefObject<HTMLElement | null> }) {
  const list = useThreads()
  const { items, loading, error, hasMore, loaded, retry } = list
  const opened = useOpened()
  const sentinel = useListEnd(scroller, list)
  return (
    <>
      {opened && <Group name={texts.opened} threads={[opened]} scroller={scroller} />}
      {groups(items).map(([name, threads]) => (
        <Group key={name} name={name} threads={threads} scroller={scroller} />
      ))}
      {loading && !loaded && <Skeletons />}
      {loading && loaded && <p className={styles.note}>{texts.loading}</p>}
      {error && <RetryNote className={styles.note} onRetry={retry} />}
      {loaded && !hasMore && items.length === 0 && (
        <EmptyState title={texts.empty}>
          <p>{texts.emptyHint}</p>
        </EmptyState>
      )}
      <div ref={sentinel} />
    </>
  )
}

/**
 * The open thread if the list does not show it: it is beyond the loaded part, or archived. A temporary one is in no
 * list.
 */
function useOpened(): Thread | null {
  const id = useMatch('/home/skill/:skillId/chat/:threadId')?.params.threadId
  const { items, loaded } = useThreads()
  const missing = id !== undefined && loaded && !items.some((item) => item.id === id)
  const { data } = useQuery({
    queryKey: [...FOUND_THREADS, 'opened', id],
    queryFn: ({ signal }) => call('getThread', { thread_id: id ?? '', signal }),
    enabled: missing,
  })
  if (!missing || data?.expires_at !== undefined || threadDeletions.has(id)) return null
  return data ?? null
}

interface GroupProps {
  name: string
  threads: readonly Thread[]
  scroller: RefObject<HTMLElement | null>
}

function Group({ name, threads, scroller }: GroupProps) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h2 className={styles.group} id={id}>
        {name}
      </h2>
      <ThreadRows threads={threads} scroller={scroller} />
    </section>
  )
}

function groups(threads: readonly Thread[]): Array<[string, Thread[]]> {
  const now = new Date()
  const byName = new Map<string, Thread[]>()
  for (const thread of threads) {
    const name = thread.pinned ? texts.pinned : dateGroup(thread.touched_at, now)
    byName.set(name, [...(byName.get(name) ?? []), thread])
  }
  return [...byName]
}
