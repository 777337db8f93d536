import { type RefObject, useSyncExternalStore } from 'react'
import { SearchField } from '@/components/SearchField'
import { EmptyState, ErrorState, RetryNote, Skeletons } from '@/components/States'
import { useSourceSearch } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { useListFocus } from '@/lib/ui/listFocus'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { useListEnd } from '@/lib/ui/scrollTrigger'
import { useSelection } from '@/lib/ui/selection'
import { SelectionBar } from './SelectionBar'
import styles from './SourceList.module.css'
import { SourceTable } from './SourceTable'
import { StorageLine } from './StorageLine'
import { texts } from './texts'

const words = texts.list

/** SourceList shows the data sources, newest first, filtered by a search. It loads more near the end of the list. */
export function SourceList({ scroller }: { scroller: RefObject<HTMLElement | null> }) {
  const [params, change] = useQueryState()
  const query = params.get('q') ?? ''
  const list = useSourceSearch(query)
  const { items, loading, asking, error, hasMore, loaded, retry } = list
  const uploading = useSyncExternalStore(uploads.subscribe, () => uploads.busy)
  const { box, onFocus } = useListFocus<HTMLElement>(items)
  const selection = useSelection(items)
  const sentinel = useListEnd(scroller, list)
  const none = items.length === 0
  const searching = query.trim() !== ''
  return (
    <div className={styles.place}>
      {(searching || !none) && (
        <div className={styles.head}>
          <SearchField
            label={words.search}
            value={query}
            onChange={(q) => change((next) => setValues(next, { q }))}
          />
          <StorageLine />
        </div>
      )}
      <section className={styles.list} aria-label={words.label} ref={box} onFocus={onFocus}>
        {!none && <SourceTable sources={items} selection={selection} />}
        {none && loading && (
          <Skeletons className={styles.skeletons} widths={[62, 48, 70, 54, 66, 50]} height={18} />
        )}
        {none && error && <ErrorState onRetry={retry} />}
        {none && loaded && !hasMore && !uploading && !searching && (
          <EmptyState title={words.empty}>
            <p>{words.emptyHint}</p>
          </EmptyState>
        )}
        {none && loaded && !asking && searching && (
          <EmptyState title={words.noMatch}>
            <p>{words.noMatchHint}</p>
          </EmptyState>
        )}
        {!none && loading && <p className={styles.note}>{words.loading}</p>}
        {!none && error && <RetryNote className={styles.note} onRetry={retry} />}
        <div ref={sentinel} />
      </section>
      {selection.selected.length > 0 && (
        <SelectionBar selected={selection.selected} onClear={selection.clear} />
      )}
      <p className="visually-hidden" role="status">
        {searching && !asking && words.found(items.length, hasMore)}
      </p>
    </div>
  )
}
