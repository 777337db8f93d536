import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Change, ChangeKind } from '@/lib/stream'
import { toast } from '@/lib/ui/toast'
import type { ChangeActions } from './ChangeItem'
import { acceptAll, type Decision, type Decisions, decide, isApplied, refuseAll } from './review'
import { texts } from './texts'

export interface Review {
  readonly decisions: Decisions
  /** Undefined while nothing can be decided. */
  readonly onDecide: ((decisions: Decisions) => void) | undefined
  /** The kind of changes that are listed; null for all. */
  readonly kind: ChangeKind | null
  readonly setKind: (kind: ChangeKind | null) => void
  /** The changes that are listed, in the order of the text. */
  readonly shown: readonly Change[]
  readonly selected: number | null
  readonly select: (id: number | null) => void
  /** Selects the next change, or the one before. */
  readonly step: (by: 1 | -1) => void
  readonly actions: ChangeActions
  /** Decides the selected change, and goes on to the next. */
  readonly decideSelected: (decision: Decision) => void
  readonly decideAll: (decision: Decision) => void
  /** The last decision in words, for screen readers. */
  readonly said: string
  readonly open: number
}

/** What the reader looks at and decides. `changes` are sorted. */
export function useReview(
  changes: readonly Change[],
  decisions: Decisions,
  onDecide: ((decisions: Decisions) => void) | undefined,
): Review {
  const [kind, setKind] = useState<ChangeKind | null>(null)
  const [selected, select] = useState<number | null>(null)
  const [said, setSaid] = useState('')
  const shown = useMemo(
    () => (kind === null ? changes : changes.filter((change) => change.kind === kind)),
    [changes, kind],
  )
  const open = changes.filter(({ id }) => !decisions.has(id)).length

  const step = (by: 1 | -1) => {
    const at = shown.findIndex(({ id }) => id === selected)
    const next = at === -1 ? (by === 1 ? 0 : shown.length - 1) : at + by
    const change = shown[Math.min(Math.max(next, 0), shown.length - 1)]
    if (change !== undefined) select(change.id)
  }
  const put = (id: number, decision: Decision | null) => {
    if (onDecide === undefined) return
    const before = decisions.has(id) ? 0 : 1
    onDecide(decide(decisions, id, decision))
    setSaid(texts.decided(decision, open - before + (decision === null ? 1 : 0)))
  }
  const toggle = (id: number, wanted: Decision) => put(id, decisions.get(id) === wanted ? null : wanted)
  const decideSelected = (decision: Decision) => {
    if (onDecide === undefined || selected === null) return
    put(selected, decision)
    step(1)
  }
  const decideAll = (decision: Decision) => {
    if (onDecide === undefined) return
    const next = decision === 'accepted' ? acceptAll(decisions, shown) : refuseAll(decisions, shown)
    const count = shown.filter((change) => decisions.get(change.id) !== next.get(change.id)).length
    if (count === 0) return
    onDecide(next)
    const words = decision === 'accepted' ? texts.accepted : texts.refused
    toast(words(count), { action: { label: texts.undo, run: () => onDecide(decisions) } })
  }

  // The list is not rendered anew for actions that are the same.
  const latest = useRef({ select, toggle })
  useLayoutEffect(() => {
    latest.current = { select, toggle }
  })
  const actions = useMemo<ChangeActions>(
    () => ({
      select: (id) => latest.current.select(id),
      toggle: (id, decision) => latest.current.toggle(id, decision),
    }),
    [],
  )
  return {
    decisions,
    onDecide,
    kind,
    setKind,
    shown,
    selected,
    select,
    step,
    actions,
    decideSelected,
    decideAll,
    said,
    open,
  }
}

/** How many changes are accepted, and how many refused. */
export function tally(
  changes: readonly Change[],
  decisions: Decisions,
): { accepted: number; refused: number } {
  const having = (wanted: Decision) => changes.filter(({ id }) => decisions.get(id) === wanted).length
  return { accepted: having('accepted'), refused: having('refused') }
}

/** How many questions are open: the result leaves them as they were. */
export function openQuestions(changes: readonly Change[], decisions: Decisions): number {
  return changes.filter((change) => !decisions.has(change.id) && !isApplied(change, undefined)).length
}
