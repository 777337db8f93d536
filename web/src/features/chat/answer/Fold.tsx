import { ChevronRight } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Spinner } from '@/components/Spinner'
import styles from './Fold.module.css'

/** Fold shows a line that can be unfolded. The content is rendered only then. It is not printed. */
export function Fold({
  summary,
  running,
  children,
}: {
  summary: ReactNode
  running: boolean
  children: ReactNode
}) {
  const [open, setOpen] = useState(false)
  return (
    <details
      className={styles.fold}
      data-print="hide"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {running ? <Spinner size={14} /> : <ChevronRight size={14} aria-hidden className={styles.mark} />}
        <span>{summary}</span>
      </summary>
      {open && children}
    </details>
  )
}
