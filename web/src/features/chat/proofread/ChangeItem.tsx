import { Check, X } from 'lucide-react'
import { memo } from 'react'
import { Button } from '@/components/Button'
import type { Change } from '@/lib/stream'
import styles from './Proofread.module.css'
import { contextOf, type Decision } from './review'
import { texts } from './texts'

/** ChangeActions are the operations on a change. The object keeps its identity as long as the list is shown. */
export interface ChangeActions {
  readonly select: (id: number) => void
  /** Repeating the same decision reopens the change. */
  readonly toggle: (id: number, decision: Decision) => void
}

interface ItemProps {
  readonly change: Change
  /** The complete text, not only the paragraph of the change. */
  readonly text: string
  readonly decision: Decision | undefined
  readonly selected: boolean
  /** Whether Tab can focus this item. Exactly one item of the list is in the tab order. */
  readonly reachable: boolean
  /** False while the server is still proofreading the text. */
  readonly decidable: boolean
  readonly actions: ChangeActions
}

/** ChangeItem is an entry in the list of changes. */
export const ChangeItem = memo(function ChangeItem({ text, selected, ...rest }: ItemProps) {
  const { change, decision, reachable, decidable, actions } = rest
  const tabIndex = reachable ? 0 : -1
  return (
    <li
      className={styles.item}
      data-item={change.id}
      data-selected={selected || undefined}
      data-decision={decision}
    >
      <button
        type="button"
        className={styles.what}
        tabIndex={tabIndex}
        aria-current={selected || undefined}
        aria-label={texts.spoken({
          ...change,
          kind: texts.kinds[change.kind],
          question: change.question === true,
          decision,
        })}
        onClick={() => actions.select(change.id)}
      >
        <ChangeText change={change} text={text} />
      </button>
      {decidable && <Decide change={change} decision={decision} tabIndex={tabIndex} actions={actions} />}
    </li>
  )
})

/** ChangeText shows the kind of a change, the affected words in their context, and the reason. */
export function ChangeText({ change, text }: { change: Change; text: string }) {
  const { kind, question, before, after, reason } = change
  const around = contextOf(text, change)
  return (
    <>
      <span className={styles.kinds}>
        <span className={styles.kind}>{texts.kinds[kind]}</span>
        {question && <span className={styles.check}>{texts.question}</span>}
      </span>
      <span className={styles.diff}>
        {around.before}
        {before === after ? (
          <span className={styles.asked}>{before}</span>
        ) : (
          <>
            {before !== '' && <del>{before}</del>}
            {after !== '' && <ins>{after}</ins>}
          </>
        )}
        {around.after}
      </span>
      {reason !== '' && <span className={styles.reason}>{reason}</span>}
    </>
  )
}

/**
 * Decide shows the buttons to accept and refuse a change. A change without a replacement can only be marked as checked.
 */
export function Decide({
  change,
  decision,
  tabIndex = 0,
  actions,
}: {
  change: Change
  decision: Decision | undefined
  tabIndex?: number
  actions: ChangeActions
}) {
  const { id, before, after } = change
  const replaces = before !== after
  return (
    <div className={styles.decide} role="group" aria-label={texts.change(before, after)}>
      <Button
        size="sm"
        tabIndex={tabIndex}
        aria-pressed={decision === 'accepted'}
        onClick={() => actions.toggle(id, 'accepted')}
      >
        <Check size={14} aria-hidden />
        {replaces ? texts.accept : texts.confirm}
      </Button>
      {replaces && (
        <Button
          size="sm"
          tabIndex={tabIndex}
          aria-pressed={decision === 'refused'}
          onClick={() => actions.toggle(id, 'refused')}
        >
          <X size={14} aria-hidden />
          {texts.refuse}
        </Button>
      )}
    </div>
  )
}
