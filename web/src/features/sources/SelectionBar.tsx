import { X } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { MAX_ASKED, useAskSources } from '@/entities/source/askSources'
import { sourceDeletions } from '@/entities/source/dataSources'
import type { DataSource } from '@/lib/api'
import { useToastPlace } from '@/lib/ui/toastPlace'
import styles from './SelectionBar.module.css'
import { texts } from './texts'

const words = texts.selection

/** SelectionBar has the actions for the selected data sources. */
export function SelectionBar({
  selected,
  onClear,
}: {
  selected: readonly DataSource[]
  onClear: () => void
}) {
  const { ask, summarize } = useAskSources()
  const bar = useRef<HTMLDivElement>(null)
  useToastPlace('foot', bar)
  const usable = selected.filter(({ status }) => status !== 'failed')
  const why = whyUnusable(selected.length, usable.length)
  const use = (way: (ids: readonly string[]) => void) => () => way(usable.map(({ id }) => id))
  return (
    <div className={styles.bar} ref={bar} role="group" aria-label={words.label}>
      <p className={styles.count} role="status">
        {words.count(selected.length)}
        {why && <span className={styles.why}>{why}</span>}
      </p>
      {ask && (
        <Button size="sm" variant="primary" disabled={why !== undefined} onClick={use(ask)}>
          {words.ask}
        </Button>
      )}
      {summarize && (
        <Button size="sm" disabled={why !== undefined} onClick={use(summarize)}>
          {words.summarize}
        </Button>
      )}
      <Button
        size="sm"
        variant="quietDanger"
        onClick={() => {
          sourceDeletions.delete(selected.map(({ id }) => id))
          onClear()
        }}
      >
        {words.delete}
      </Button>
      <IconButton size="sm" label={words.clear} onClick={onClear}>
        <X size={16} />
      </IconButton>
    </div>
  )
}

/** whyUnusable returns the reason why the selected data sources cannot be used together, or undefined if they can. */
function whyUnusable(selected: number, usable: number): string | undefined {
  if (usable > MAX_ASKED) return words.tooMany(MAX_ASKED)
  return usable === 0 && selected > 0 ? words.unread : undefined
}
