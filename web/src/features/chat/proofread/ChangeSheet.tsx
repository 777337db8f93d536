import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { IconButton } from '@/components/IconButton'
import type { Change } from '@/lib/stream'
import { ChangeText, Decide } from './ChangeItem'
import styles from './Proofread.module.css'
import { texts } from './texts'
import type { Review } from './useReview'

/** ChangeSheet shows the selected change at the bottom of a narrow screen. */
export function ChangeSheet({
  text,
  changes,
  review,
  selected,
}: {
  text: string
  changes: readonly Change[]
  review: Review
  selected: number
}) {
  const { shown, decisions, onDecide, actions, step, select } = review
  const listed = shown.some(({ id }) => id === selected) ? shown : changes
  const at = listed.findIndex(({ id }) => id === selected)
  const change = listed[at]
  if (change === undefined) return null
  return (
    <Dialog
      className={styles.sheet}
      title={texts.sheet.position(at + 1, listed.length)}
      onClose={() => select(null)}
    >
      <p className={styles.what}>
        <ChangeText change={change} text={text} />
      </p>
      {onDecide && <Decide change={change} decision={decisions.get(change.id)} actions={actions} />}
      <div className={styles.steps}>
        <IconButton label={texts.sheet.previous} disabled={at === 0} onClick={() => step(-1)}>
          <ChevronLeft size={20} />
        </IconButton>
        <IconButton label={texts.sheet.next} disabled={at === listed.length - 1} onClick={() => step(1)}>
          <ChevronRight size={20} />
        </IconButton>
        <Button onClick={() => select(null)}>{texts.sheet.close}</Button>
      </div>
    </Dialog>
  )
}
