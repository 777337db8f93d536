import type { RefObject } from 'react'
import { Button } from '@/components/Button'
import { EmptyState } from '@/components/States'
import { useScrollTrigger } from '@/lib/scrollTrigger'
import { useThreadSearch } from '@/lib/threadSearch'
import { Skeletons } from './Skeletons'
import styles from './ThreadColumn.module.css'
import { ThreadItem } from './ThreadItem'
import { texts } from './texts'

/** The threads that a search finds, each with the place where its words are. */
export function SearchResults({
  query,
  scroller,
}: {
  query: string
  scroller: RefObject<HTMLElement | null>
}) {
  const { items, asking, error, hasNextPage, fetchNextPage, refetch } = useThreadSearch(query)
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: hasNextPage && !asking && error === null,
    onNear: () => void fetchNextPage(),
    count: items.length,
  })
  return (
    <>
      <ul className={styles.list} aria-label={texts.results} aria-busy={asking}>
        {items.map((thread) => (
          <ThreadItem key={thread.id} thread={thread} />
        ))}
      </ul>
      {asking && items.length === 0 && <Skeletons />}
      {error && (
        <p className={styles.note} role="alert">
          {texts.searchFailed}
          <Button variant="link" onClick={() => void refetch()}>
            {texts.retry}
          </Button>
        </p>
      )}
      {!asking && !error && items.length === 0 && (
        <EmptyState title={texts.noMatch}>
          <p>{texts.noMatchHint}</p>
        </EmptyState>
      )}
      <p className="visually-hidden" role="status">
        {!asking && texts.found(items.length, hasNextPage)}
      </p>
      <div ref={sentinel} />
    </>
  )
}
