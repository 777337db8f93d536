import type { ReactNode } from 'react'
import styles from './PageHeading.module.css'
import { ThreadLine } from './ThreadLine'

/** The heading of a page with the thread below it, and a sentence about the page. */
export function PageHeading({ title, lead }: { title: string; lead?: ReactNode }) {
  return (
    <div>
      <h1 className={styles.title}>{title}</h1>
      <span className={styles.thread}>
        <ThreadLine />
      </span>
      {lead && <p className={styles.lead}>{lead}</p>}
    </div>
  )
}
