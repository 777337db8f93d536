import { Button } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import type { Change } from '@/lib/stream'
import { ChangeItem } from './ChangeItem'
import styles from './Proofread.module.css'
import { countKinds } from './review'
import { texts } from './texts'
import { countDecisions, type Review } from './useReview'
import type { ProofreadViewProps } from './viewProps'

interface PanelProps {
  readonly text: string
  readonly changes: readonly Change[]
  readonly review: Review
  readonly saving: ProofreadViewProps['saving']
}

/** ChangePanel lists the changes, filtered by kind, with their decisions and the buttons that decide all of them. */
export function ChangePanel({ text, changes, review, saving }: PanelProps) {
  const { decisions, onDecide, shown, selected, actions, open } = review
  const { accepted, refused } = countDecisions(changes, decisions)
  const reachable = shown.some(({ id }) => id === selected) ? selected : shown[0]?.id
  return (
    <div className={styles.panel}>
      <div className={styles.panelHead} data-print="hide">
        <Filter changes={changes} review={review} />
        {onDecide && (
          <>
            <Bulk review={review} />
            <p className={styles.counts}>
              <span>{texts.counts(accepted, refused, open)}</span>
              {saving && <span data-saving={saving}>{texts[saving]}</span>}
            </p>
          </>
        )}
      </div>
      <ol className={styles.list} aria-label={texts.list} data-list>
        {shown.map((change) => (
          <ChangeItem
            key={change.id}
            change={change}
            text={text}
            decision={decisions.get(change.id)}
            selected={change.id === selected}
            reachable={change.id === reachable}
            decidable={onDecide !== undefined}
            actions={actions}
          />
        ))}
      </ol>
      {onDecide && (
        <p className={styles.hint} data-print="hide">
          {texts.openNote}
          <span className={styles.keys}>{texts.keys}</span>
        </p>
      )}
    </div>
  )
}

/** Filter selects the kind of changes in the list. */
function Filter({ changes, review }: { changes: readonly Change[]; review: Review }) {
  const kinds = [...countKinds(changes)]
  if (kinds.length < 2) return null
  return (
    <div className={styles.filter} role="group" aria-label={texts.filter}>
      <ChoiceChip selected={review.kind === null} onClick={() => review.setKind(null)}>
        {texts.kindCount(texts.all, changes.length)}
      </ChoiceChip>
      {kinds.map(([kind, count]) => (
        <ChoiceChip key={kind} selected={review.kind === kind} onClick={() => review.setKind(kind)}>
          {texts.kindCount(texts.kinds[kind], count)}
        </ChoiceChip>
      ))}
    </div>
  )
}

/** Bulk decides all listed changes. */
function Bulk({ review: { kind, decideAll } }: { review: Review }) {
  const name = kind === null ? null : texts.kinds[kind]
  return (
    <div className={styles.bulk}>
      <Button size="sm" onClick={() => decideAll('accepted')}>
        {name === null ? texts.acceptAll : texts.acceptShown(name)}
      </Button>
      <Button size="sm" onClick={() => decideAll('refused')}>
        {name === null ? texts.refuseAll : texts.refuseShown(name)}
      </Button>
    </div>
  )
}
