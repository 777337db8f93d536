import { type RefObject, useSyncExternalStore } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, ErrorState, Skeleton } from '@/components/States'
import { useSources } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { useScrollTrigger } from '@/lib/ui/scrollTrigger'
import styles from './SourceList.module.css'
import { SourceTable } from './SourceTable'
import { texts } from './texts'
import { useKeptFocus } from './useKeptFocus'

const words = texts.list

/** The data sources, newest first, with more of them when the end comes near. */
export function SourceList({ scroller }: { scroller: RefObject<HTMLElement | null> }) {
  const { items, loading, error, hasMore, loaded, ready, loadMore, retry } = useSources()
  const uploading = useSyncExternalStore(uploads.subscribe, () => uploads.busy)
  const { box, onFocus } = useKeptFocus<HTMLElement>(items)
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: ready,
    onNear: loadMore,
    count: items.length,
  })
  const none = items.length === 0
  return (
    <section className={styles.list} aria-label={words.label} ref={box} onFocus={onFocus}>
      {!none && <SourceTable sources={items} />}
      {none && loading && <Skeletons />}
      {none && error && <ErrorState onRetry={retry} />}
      {none && loaded && !hasMore && !uploading && (
        <EmptyState title={words.empty}>
          <p>{words.emptyHint}</p>
        </EmptyState>
      )}
      {!none && loading && <p className={styles.note}>{words.loading}</p>}
      {!none && error && (
        <p className={styles.note} role="alert">
          {words.error}
          <Button variant="link" onClick={retry}>
            {words.reload}
          </Button>
        </p>
      )}
      <div ref={sentinel} />
    </section>
  )
}

function Skeletons() {
  return (
    <div className={styles.skeletons} role="status">
      <span className="visually-hidden">{words.loading}</span>
      {[62, 48, 70, 54, 66, 50].map((width) => (
        <Skeleton key={width} width={`${width}%`} height={18} />
      ))}
    </div>
  )
}
