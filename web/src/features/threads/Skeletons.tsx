import { Skeletons as Lines } from '@/components/States'
import styles from './ThreadColumn.module.css'

/** A placeholder for threads that are loading. */
export function Skeletons() {
  return <Lines className={styles.skeletons} widths={[72, 56, 84, 64, 48, 76]} />
}
