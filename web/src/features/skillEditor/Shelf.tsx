import { useState } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, ErrorState } from '@/components/States'
import { useList } from '@/lib/api/lists'
import { Checkbox } from '@/lib/ui/Checkbox'
import styles from './Library.module.css'
import { shelfQuery } from './queries'
import { ShelfLine } from './ShelfLine'
import { texts } from './texts'

/** Shelf lists the skills of a shelf with their actions. */
export function Shelf({ shelf }: { shelf: 'own' | 'organization' }) {
  const [archived, setArchived] = useState(false)
  const { items, loaded, asking, error, hasMore, loadMore, retry } = useList(shelfQuery(shelf, archived))
  return (
    <>
      <label className={styles.archived}>
        <Checkbox checked={archived} onChange={(event) => setArchived(event.target.checked)} />
        {texts.archived}
      </label>
      {!loaded && !error && <p role="status">{texts.loading}</p>}
      {loaded && items.length === 0 && <EmptyState title={texts.empty} />}
      <ul className={styles.list}>
        {items.map((skill) => (
          <ShelfLine key={skill.id} skill={skill} shelf={shelf} />
        ))}
      </ul>
      {error && <ErrorState onRetry={retry} />}
      {hasMore && !error && (
        <Button className={styles.next} loading={asking} onClick={loadMore}>
          {texts.more}
        </Button>
      )}
    </>
  )
}
