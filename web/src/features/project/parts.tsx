import { type ReactNode, type RefObject, useId } from 'react'
import { Button } from '@/components/Button'
import { ErrorState, Skeleton } from '@/components/States'
import type { List } from '@/lib/api/lists'
import { useScrollTrigger } from '@/lib/ui/scrollTrigger'
import styles from './Project.module.css'
import { texts } from './texts'

/** Section is a part of a page with a heading. */
export function Section({ title, lead, children }: { title: string; lead?: string; children: ReactNode }) {
  const id = useId()
  return (
    <section className={styles.section} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lead && <p className={styles.quiet}>{lead}</p>}
      {children}
    </section>
  )
}

/** LinesLoading is a placeholder for a list that is loading. */
export function LinesLoading() {
  return (
    <div className={styles.skeletons} role="status">
      <span className="visually-hidden">{texts.loading}</span>
      {[54, 38, 62, 46].map((width) => (
        <Skeleton key={width} width={`${width}%`} height={18} />
      ))}
    </div>
  )
}

/** LoadedList shows a list with its loading, empty and error states. It loads more near its end. */
export function LoadedList<T>({
  list: { items, asking, loading, error, loaded, ready, hasMore, loadMore, retry },
  empty,
  scroller = page,
  children,
}: {
  list: List<T>
  /** Replaces an empty list. */
  empty: ReactNode
  scroller?: RefObject<HTMLElement | null>
  children: (items: readonly T[]) => ReactNode
}) {
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: ready,
    onNear: loadMore,
    count: items.length,
  })
  const none = items.length === 0
  return (
    <div aria-busy={asking}>
      {!none && children(items)}
      {none && loading && <LinesLoading />}
      {none && error && <ErrorState onRetry={retry} />}
      {none && loaded && !hasMore && !asking && !error && empty}
      {!none && error && (
        <p className={styles.quiet} role="alert">
          {texts.error}
          <Button variant="link" onClick={retry}>
            {texts.retry}
          </Button>
        </p>
      )}
      <div ref={sentinel} />
    </div>
  )
}

/** The page scrolls, not the list. */
const page: RefObject<HTMLElement | null> = {
  get current() {
    return document.querySelector('main')
  },
  set current(_) {},
}
