import { useQuery } from '@tanstack/react-query'
import { formatSize } from '@/entities/source/files'
import { ownUsageQuery } from '@/lib/api/queries'
import styles from './StorageLine.module.css'
import { texts } from './texts'

/** SHORT is the used share of the storage above which a warning is shown. */
const SHORT = 0.9

/** StorageLine shows the size of the user's files, and the limit. */
export function StorageLine() {
  const storage = useQuery(ownUsageQuery).data?.storage
  if (storage === undefined) return null
  const part = Math.min(1, storage.used / Math.max(1, storage.limit))
  return (
    <div className={styles.line} data-short={part >= SHORT || undefined}>
      <span className={styles.bar} aria-hidden>
        <span style={{ transform: `scaleX(${part})` }} />
      </span>
      <span>{texts.storage.used(formatSize(storage.used), formatSize(storage.limit))}</span>
      {part >= SHORT && <span>{texts.storage.short}</span>}
    </div>
  )
}
