import { type AriaAttributes, type RefObject, useRef } from 'react'
import type { Thread } from '@/lib/api'
import styles from './ThreadColumn.module.css'
import { ThreadItem } from './ThreadItem'
import { useRows } from './useRows'

interface ThreadRowsProps extends AriaAttributes {
  readonly threads: readonly Thread[]
  readonly scroller: RefObject<HTMLElement | null>
}

/** ThreadRows is a list of threads of the same height. It renders those near the visible part. */
export function ThreadRows({ threads, scroller, ...props }: ThreadRowsProps) {
  const list = useRef<HTMLUListElement>(null)
  const { from, to, height } = useRows(scroller, list, threads.length)
  return (
    <ul
      {...props}
      className={styles.list}
      ref={list}
      style={{ paddingBlock: `${from * height}px ${(threads.length - to) * height}px` }}
    >
      {threads.slice(from, to).map((thread, at) => (
        <ThreadItem
          key={thread.id}
          thread={thread}
          aria-posinset={from + at + 1}
          aria-setsize={threads.length}
        />
      ))}
    </ul>
  )
}
