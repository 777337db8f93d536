import { useEffect } from 'react'
import { Column } from '@/components/Column'
import styles from './steps.module.css'
import { texts } from './texts'

/** ConfirmedPage ends a confirmation in another window. Some browsers do not let a page close itself. */
export function ConfirmedPage() {
  useEffect(() => window.close(), [])
  return (
    <Column title={texts.confirm.done}>
      <p className={styles.body}>{texts.confirm.doneBody}</p>
    </Column>
  )
}
