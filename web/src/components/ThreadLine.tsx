import { cx } from '@/lib/ui/cx'
import styles from './ThreadLine.module.css'

/** The one ornament: a thin thread. It runs while something is being written. */
export function ThreadLine({
  direction = 'horizontal',
  running = false,
  className,
}: {
  direction?: 'horizontal' | 'vertical'
  running?: boolean
  className?: string | undefined
}) {
  return (
    <span
      aria-hidden="true"
      className={cx(styles.line, styles[direction], running && styles.running, className)}
    />
  )
}
