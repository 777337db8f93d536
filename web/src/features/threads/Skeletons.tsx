import { Skeleton } from '@/components/States'
import styles from './ThreadColumn.module.css'
import { texts } from './texts'

/** A placeholder for threads that are loading. */
export function Skeletons() {
  return (
    <div className={styles.skeletons} role="status">
      <span className="visually-hidden">{texts.loading}</span>
      {[72, 56, 84, 64, 48, 76].map((width) => (
        <Skeleton key={width} width={`${width}%`} />
      ))}
    </div>
  )
}
