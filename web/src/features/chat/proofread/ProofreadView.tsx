import { useAtomValue } from 'jotai'
import { type MouseEvent, useMemo, useRef } from 'react'
import { cx } from '@/lib/ui/cx'
import { ChangePanel } from './ChangePanel'
import { ChangeSheet } from './ChangeSheet'
import { Head } from './Head'
import { Row } from './Marked'
import { modeAtom } from './mode'
import { Notes, NothingFound } from './Notes'
import styles from './Proofread.module.css'
import { type Decisions, decisionsOf, listsOf, paragraphsOf, sortChanges } from './review'
import { texts } from './texts'
import { useReview } from './useReview'
import { useReviewKeys } from './useReviewKeys'
import { useShowSelected } from './useShowSelected'
import { useTwoColumns } from './useTwoColumns'
import type { ProofreadViewProps } from './viewProps'

/** ProofreadView shows the original and the corrected text, and the changes for the reader to decide. */
export function ProofreadView(props: ProofreadViewProps) {
  const { proofread, decided, saving, note = '', writing, onDecide } = props
  const { text } = proofread
  const changes = useMemo(() => sortChanges(proofread), [proofread])
  const decisions = useMemo(() => decisionsOf(decided), [decided])
  const view = useRef<HTMLElement>(null)
  const roomy = useTwoColumns(view)
  const review = useReview(changes, decisions, writing ? undefined : (next) => onDecide(listsOf(next)))
  useReviewKeys(view, review)
  useShowSelected(view, review.selected, roomy)
  const { select, selected, announcement: said } = review

  const onClick = ({ target }: MouseEvent) => {
    const mark = target instanceof Element && target.closest('[data-mark]')
    // A click that ends a text selection does not select a change.
    if (mark && document.getSelection()?.isCollapsed !== false) select(Number(mark.getAttribute('data-mark')))
  }
  return (
    <section
      ref={view}
      className={cx(styles.view, roomy && styles.roomy)}
      aria-label={texts.label}
      data-proofread
      data-hold
      data-unfold
    >
      {writing || changes.length > 0 ? (
        <Head {...props} changes={changes} decisions={decisions} roomy={roomy} />
      ) : (
        <NothingFound proofread={proofread} />
      )}
      {(writing || changes.length > 0) && (
        <div className={styles.body}>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the list and its keys do the same. */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list and its keys do the same. */}
          <div className={styles.text} onClick={onClick}>
            <Text text={text} changes={changes} decisions={decisions} selected={selected} roomy={roomy} />
          </div>
          {changes.length > 0 && (
            <ChangePanel text={text} changes={changes} review={review} saving={saving} />
          )}
        </div>
      )}
      {!writing && <Notes proofread={proofread} note={note} />}
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {!roomy && selected !== null && (
        <ChangeSheet text={text} changes={changes} review={review} selected={selected} />
      )}
    </section>
  )
}

interface TextProps {
  readonly text: string
  readonly changes: ReturnType<typeof sortChanges>
  readonly decisions: Decisions
  readonly selected: number | null
  readonly roomy: boolean
}

/** Text shows the paragraphs. On a narrow screen, original and correction are combined. */
function Text({ text, changes, decisions, selected, roomy }: TextProps) {
  const chosen = useAtomValue(modeAtom)
  const mode = roomy ? chosen : 'joined'
  const paragraphs = useMemo(() => paragraphsOf(text, changes), [text, changes])
  return (
    <>
      {mode === 'split' && (
        <div className={cx(styles.pair, styles.heads)} aria-hidden>
          <span>{texts.original}</span>
          <span>{texts.corrected}</span>
        </div>
      )}
      {paragraphs.map((paragraph) => (
        <Row
          key={paragraph.start}
          paragraph={paragraph}
          decisions={paragraph.changes.map(({ id }) => decisions.get(id))}
          selected={paragraph.changes.some(({ id }) => id === selected) ? selected : null}
          mode={mode}
        />
      ))}
    </>
  )
}
