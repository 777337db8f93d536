import { type RefObject, useId } from 'react'
import { Button } from '@/components/Button'
import { EmptyState } from '@/components/States'
import type { Thread } from '@/lib/api'
import { type DateGroup, dateGroup } from '@/lib/dates'
import { useScrollTrigger } from '@/lib/scrollTrigger'
import { threadList, useThreads } from '@/lib/threads'
import { Skeletons } from './Skeletons'
import styles from './ThreadColumn.module.css'
import { ThreadItem } from './ThreadItem'
import { texts } from './texts'

/** The threads by date, with more of them when the end comes near. */
export function ThreadGroups({ scroller }: { scroller: RefObject<HTMLElement | null> }) {
  const { items, loading, error, mightHaveMore, loaded } = useThreads()
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: loaded && mightHaveMore && !error,
    onNear: () => void threadList.loadMore(),
    count: items.length,
  })
  const retry = () => void (items.length > 0 ? threadList.loadMore() : threadList.load())

  return (
    <>
      {groups(items).map(([name, threads]) => (
        <Group key={name} name={name} threads={threads} />
      ))}
      {loading && !loaded && <Skeletons />}
      {loading && loaded && <p className={styles.note}>{texts.loading}</p>}
      {error && (
        <p className={styles.note} role="alert">
          {texts.error}
          <Button variant="link" onClick={retry}>
            {texts.reload}
          </Button>
        </p>
      )}
      {loaded && !loading && !error && items.length === 0 && (
        <EmptyState title={texts.empty}>
          <p>{texts.emptyHint}</p>
        </EmptyState>
      )}
      <div ref={sentinel} />
    </>
  )
}

function Group({ name, threads }: { name: DateGroup; threads: readonly Thread[] }) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h2 className={styles.group} id={id}>
        {name}
      </h2>
      <ul className={styles.list}>
        {threads.map((thread) => (
          <ThreadItem key={thread.id} thread={thread} />
        ))}
      </ul>
    </section>
  )
}

function groups(threads: readonly Thread[]): Array<[DateGroup, Thread[]]> {
  const now = new Date()
  const byName = new Map<DateGroup, Thread[]>()
  for (const thread of threads) {
    const name = dateGroup(thread.touched_at, now)
    byName.set(name, [...(byName.get(name) ?? []), thread])
  }
  return [...byName]
}
