import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Change, ChangeKind } from '@/lib/stream'
import { toast } from '@/lib/ui/toast'
import type { ChangeActions } from './ChangeItem'
import { acceptAll, type Decision, type Decisions, decide, isApplied, refuseAll } from './review'
import { texts } from './texts'

export type Review = ReturnType<typeof useReview>

/** useReview holds the reader's selection, filter and decisions. `changes` must be sorted. */
export function useReview(
  changes: readonly Change[],
  decisions: Decisions,
  /** Undefined while the changes are read-only. */
  onDecide: ((decisions: Decisions) => void) | undefined,
) {
  /** The kind of changes in the list; null for all. */
  const [kind, setKind] = useState<ChangeKind | null>(null)
  const [selected, select] = useState<number | null>(null)
  /** The last decision in words, for screen readers. */
  const [announcement, announce] = useState('')
  /** The listed changes, in text order. */
  const shown = useMemo(
    () => (kind === null ? changes : changes.filter((change) => change.kind === kind)),
    [changes, kind],
  )
  const open = changes.filter(({ id }) => !decisions.has(id)).length

  /** Selects the next or the previous change. */
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
    announce(texts.decided(decision, open - before + (decision === null ? 1 : 0)))
  }
  const toggle = (id: number, wanted: Decision) => put(id, decisions.get(id) === wanted ? null : wanted)
  /** Decides the selected change and selects the next one. */
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

  // Stable actions prevent the list from rendering again.
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
    announcement,
    open,
  }
}

/** countDecisions returns the numbers of accepted and refused changes. */
export function countDecisions(
  changes: readonly Change[],
  decisions: Decisions,
): { accepted: number; refused: number } {
  const having = (wanted: Decision) => changes.filter(({ id }) => decisions.get(id) === wanted).length
  return { accepted: having('accepted'), refused: having('refused') }
}

/** openQuestions counts the open questions, which leave the text unchanged. */
export function openQuestions(changes: readonly Change[], decisions: Decisions): number {
  return changes.filter((change) => !decisions.has(change.id) && !isApplied(change, undefined)).length
}
