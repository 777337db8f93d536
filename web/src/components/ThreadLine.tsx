import { cx } from '@/lib/ui/cx'
import styles from './ThreadLine.module.css'

/** The app's only ornament: a thin thread. It is animated while an answer is running. */
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
