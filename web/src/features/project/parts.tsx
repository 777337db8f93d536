import { type ReactNode, useId } from 'react'
import { EmptyState, ErrorState, Skeletons } from '@/components/States'
import type { List } from '@/lib/api/lists'
import { useListEnd } from '@/lib/ui/scrollTrigger'
import styles from './Project.module.css'

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

/** Empty is the empty state of a list, with the next step. */
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
  return (
    <EmptyState title={title}>
      {hint && <p>{hint}</p>}
      {children}
    </EmptyState>
  )
}

/** LinesLoading is a placeholder for a list that is loading. */
export function LinesLoading() {
  return <Skeletons className={styles.skeletons} widths={[54, 38, 62, 46]} height={18} />
}

interface LoadedListProps<T> {
  readonly list: List<T>
  /** Replaces an empty list. */
  readonly empty: ReactNode
  readonly children: (items: readonly T[]) => ReactNode
}

/** LoadedList shows a list with its loading, empty and error states. It loads more near its end. */
export function LoadedList<T>({ list, empty, children }: LoadedListProps<T>) {
  const { items, asking, loading, error, loaded, hasMore, retry } = list
  const none = items.length === 0
  const sentinel = useListEnd(page, list)
  return (
    <div aria-busy={asking}>
      {!none && children(items)}
      {none && loading && <LinesLoading />}
      {none && loaded && !hasMore && !asking && !error && empty}
      {error && <ErrorState onRetry={retry} />}
      <div ref={sentinel} />
    </div>
  )
}

/** The page scrolls, not the list. */
const page = {
  get current() {
    return document.querySelector('main')
  },
}
