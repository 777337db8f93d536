import { memo } from 'react'
import type { Change } from '@/lib/stream'
import type { Mode } from './mode'
import styles from './Proofread.module.css'
import { type Decision, type Paragraph, segmentsOf } from './review'

/** Which text a mark stands in: the one before, the one after, or both in one. */
type Side = 'before' | 'after' | 'both'

interface RowProps {
  readonly paragraph: Paragraph
  /** The decisions of the paragraph's changes, in their order. */
  readonly decisions: readonly (Decision | undefined)[]
  /** The change that is selected, if it is in this paragraph. */
  readonly selected: number | null
  readonly mode: Mode
}

/** A paragraph: in one, or as it was and as it becomes. Rendered anew only when something in it changes. */
export const Row = memo(
  function Row({ mode, ...rest }: RowProps) {
    if (mode === 'joined') return <Side {...rest} side="both" />
    return (
      <div className={styles.pair}>
        <Side {...rest} side="before" />
        <Side {...rest} side="after" />
      </div>
    )
  },
  (a, b) =>
    a.mode === b.mode &&
    a.selected === b.selected &&
    a.paragraph.start === b.paragraph.start &&
    a.paragraph.text === b.paragraph.text &&
    same(a.paragraph.changes, b.paragraph.changes) &&
    same(a.decisions, b.decisions),
)

function same(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

function Side({ paragraph, decisions, selected, side }: Omit<RowProps, 'mode'> & { readonly side: Side }) {
  const { start, text, changes } = paragraph
  return (
    <p className={styles.paragraph} data-side={side}>
      {segmentsOf(text, start, changes).map((segment) =>
        typeof segment === 'string' ? (
          segment
        ) : (
          <span
            key={segment.id}
            className={styles.mark}
            data-mark={segment.id}
            data-selected={segment.id === selected || undefined}
          >
            <Mark change={segment} decision={decisions[changes.indexOf(segment)]} side={side} />
          </span>
        ),
      )}
    </p>
  )
}

interface MarkProps {
  readonly change: Change
  readonly decision: Decision | undefined
  readonly side: Side
}

/** A change in its text. One that was refused, and a question that is open, leave the text as it was. */
function Mark({ change, decision, side }: MarkProps) {
  const { before, after, question } = change
  if (decision === 'refused') return <span className={styles.kept}>{before}</span>
  if (decision === undefined && question) return <span className={styles.asked}>{before}</span>
  if (before === after) return <span className={styles.kept}>{before}</span>
  const done = decision === 'accepted'
  const gone = side === 'before' || (side === 'both' && !done)
  return (
    <>
      {gone && before !== '' && <del data-done={done || undefined}>{before}</del>}
      {side !== 'before' && after !== '' && <ins data-done={done || undefined}>{after}</ins>}
      {((side === 'before' && before === '') || (after === '' && !gone)) && <span className={styles.gap} />}
    </>
  )
}
