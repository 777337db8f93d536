import type { ReactNode, RefObject } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, RetryNote } from '@/components/States'
import { useArchivedThreads, useThreadSearch } from '@/entities/thread/foundThreads'
import type { Thread } from '@/lib/api'
import type { List } from '@/lib/api/lists'
import { cx } from '@/lib/ui/cx'
import { useListEnd } from '@/lib/ui/scrollTrigger'
import { Skeletons } from './Skeletons'
import styles from './ThreadColumn.module.css'
import { ThreadItem } from './ThreadItem'
import { ThreadRows } from './ThreadRows'
import { texts } from './texts'

type Scroller = RefObject<HTMLElement | null>

/** The results of a search, each with the place of its match. */
export function SearchResults({ query, scroller }: { query: string; scroller: Scroller }) {
  const found = useThreadSearch(query)
  return (
    <>
      <Found found={found} label={texts.results} failed={texts.searchFailed} scroller={scroller}>
        <EmptyState title={texts.noMatch}>
          <p>{texts.noMatchHint}</p>
        </EmptyState>
      </Found>
      <p className="visually-hidden" role="status">
        {!found.asking && texts.found(found.items.length, found.hasMore)}
      </p>
    </>
  )
}

/** The archived threads. */
export function ArchivedThreads({ scroller, onClose }: { scroller: Scroller; onClose: () => void }) {
  return (
    <>
      <div className={styles.archive}>
        <h2 className={styles.group}>{texts.archivedThreads}</h2>
        <Button variant="link" onClick={onClose}>
          {texts.showList}
        </Button>
      </div>
      <Found
        found={useArchivedThreads()}
        label={texts.archivedThreads}
        failed={texts.error}
        scroller={scroller}
      >
        <EmptyState title={texts.nothingArchived} />
      </Found>
    </>
  )
}

function Found({
  found,
  label,
  failed,
  scroller,
  children,
}: {
  found: List<Thread>
  label: string
  failed: string
  scroller: Scroller
  /** The text for an empty list. */
  children: ReactNode
}) {
  const { items, asking, error, retry } = found
  const sentinel = useListEnd(scroller, found)
  return (
    <>
      {items.some(({ match }) => match) ? (
        // Results have different heights. Those out of view are not laid out.
        <ul className={cx(styles.list, styles.results)} aria-label={label} aria-busy={asking}>
          {items.map((thread) => (
            <ThreadItem key={thread.id} thread={thread} />
          ))}
        </ul>
      ) : (
        <ThreadRows threads={items} scroller={scroller} aria-label={label} aria-busy={asking} />
      )}
      {asking && items.length === 0 && <Skeletons />}
      {error && <RetryNote className={styles.note} message={failed} onRetry={retry} />}
      {!asking && !error && items.length === 0 && children}
      <div ref={sentinel} />
    </>
  )
}
