import { memo } from 'react'
import type { Change } from '@/lib/stream'
import type { Mode } from './mode'
import styles from './Proofread.module.css'
import { type Decision, type Paragraph, segmentsOf } from './review'

/** Side is the text that contains a mark: the original, the corrected text, or both combined. */
type Side = 'before' | 'after' | 'both'

interface RowProps {
  readonly paragraph: Paragraph
  /** The decisions about the paragraph's changes, in the order of the changes. */
  readonly decisions: readonly (Decision | undefined)[]
  /** The id of the selected change, if this paragraph contains it. */
  readonly selected: number | null
  readonly mode: Mode
}

/**
 * Row shows a paragraph, either combined or as original and correction. It renders only when one of its props changes.
 */
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

/** Mark shows a change within its text. Refused changes and open questions leave the original text in place. */
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
