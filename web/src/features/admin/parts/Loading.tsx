import { Skeleton } from '@/components/States'
import { common } from '../texts'
import styles from './Loading.module.css'

const widths = ['62%', '48%', '70%', '54%', '66%', '50%']

/** A placeholder for lines. */
export function LinesLoading({ lines = 6 }: { lines?: number }) {
  return (
    <div className={styles.lines} role="status">
      <span className="visually-hidden">{common.loading}</span>
      {widths.slice(0, lines).map((width) => (
        <Skeleton key={width} width={width} height={18} />
      ))}
    </div>
  )
}

/** A placeholder for boxes. */
export function BoxesLoading({ heights }: { heights: readonly number[] }) {
  return (
    <div className={styles.boxes} role="status">
      <span className="visually-hidden">{common.loading}</span>
      {heights.map((height) => (
        <Skeleton key={height} height={height} radius={8} />
      ))}
    </div>
  )
}
