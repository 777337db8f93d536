import { type Change, type ChangeKind, changeKinds, type Proofreading, type TextRange } from '@/lib/stream'

/** Decision is the reader's decision about a change. A change that is missing from Decisions is open. */
export type Decision = 'accepted' | 'refused'

export type Decisions = ReadonlyMap<number, Decision>

/** DecisionLists are the decisions in the format of the API. */
export interface DecisionLists {
  readonly accepted: readonly number[]
  readonly refused: readonly number[]
}

export function decisionsOf(lists: DecisionLists | undefined): Decisions {
  return new Map([
    ...(lists?.accepted ?? []).map((id) => [id, 'accepted'] as const),
    ...(lists?.refused ?? []).map((id) => [id, 'refused'] as const),
  ])
}

export function listsOf(decisions: Decisions): DecisionLists {
  const having = (wanted: Decision) =>
    [...decisions].flatMap(([id, decision]) => (decision === wanted ? id : [])).sort((a, b) => a - b)
  return { accepted: having('accepted'), refused: having('refused') }
}

/** isApplied reports whether the corrected text contains a change: open changes are applied, except questions. */
export function isApplied({ question }: Change, decision: Decision | undefined): boolean {
  return decision === 'accepted' || (decision === undefined && question !== true)
}

/** sortChanges returns the changes that match the text, in text order. It omits changes that overlap an earlier one. */
export function sortChanges({ text, changes }: Pick<Proofreading, 'text' | 'changes'>): readonly Change[] {
  let end = 0
  return [...changes]
    .sort((a, b) => a.start - b.start || a.end - b.end || a.id - b.id)
    .filter((change) => {
      const fits = change.start >= end && text.slice(change.start, change.end) === change.before
      if (fits) end = change.end
      return fits
    })
}

/** Segment is a part of a text: unchanged, or a change. */
type Segment = string | Change

/** segmentsOf splits a text at its changes. `offset` is the position of `text` in the complete text. */
export function segmentsOf(text: string, offset: number, changes: readonly Change[]): readonly Segment[] {
  const segments: Segment[] = []
  let at = offset
  for (const change of changes) {
    if (change.start > at) segments.push(text.slice(at - offset, change.start - offset))
    segments.push(change)
    at = change.end
  }
  if (at < offset + text.length) segments.push(text.slice(at - offset))
  return segments
}

/** resultOf returns the corrected text for the decisions. */
export function resultOf(text: string, changes: readonly Change[], decisions: Decisions): string {
  return segmentsOf(text, 0, changes)
    .map((part) => {
      if (typeof part === 'string') return part
      return isApplied(part, decisions.get(part.id)) ? part.after : part.before
    })
    .join('')
}

/** Paragraph is a line of the text with its changes. A change that contains a line break joins several lines. */
export interface Paragraph {
  readonly start: number
  readonly text: string
  readonly changes: readonly Change[]
}

/** paragraphsOf splits a text into paragraphs. `changes` must be sorted. */
export function paragraphsOf(text: string, changes: readonly Change[]): readonly Paragraph[] {
  const paragraphs: Paragraph[] = []
  let next = 0
  for (let start = 0; start <= text.length; ) {
    let end = lineEnd(text, start)
    const own: Change[] = []
    for (let change = changes[next]; change !== undefined && change.start <= end; change = changes[++next]) {
      own.push(change)
      if (change.end > end) end = lineEnd(text, change.end)
    }
    paragraphs.push({ start, text: text.slice(start, end), changes: own })
    start = end + 1
  }
  return paragraphs
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at === -1 ? text.length : at
}

/** countKinds returns the number of changes of each kind that occurs. */
export function countKinds(changes: readonly Change[]): ReadonlyMap<ChangeKind, number> {
  const counts = changeKinds.map((kind) => [kind, changes.filter((change) => change.kind === kind).length])
  return new Map((counts as [ChangeKind, number][]).filter(([, count]) => count > 0))
}

/** acceptAll accepts `changes`. It does not change questions, because only the reader can answer them. */
export function acceptAll(decisions: Decisions, changes: readonly Change[]): Decisions {
  const all = changes.filter(({ question }) => question !== true)
  return new Map([...decisions, ...all.map(({ id }) => [id, 'accepted'] as const)])
}

/** refuseAll refuses `changes`. It skips open questions, which do not affect the text. */
export function refuseAll(decisions: Decisions, changes: readonly Change[]): Decisions {
  const applied = changes.filter((change) => isApplied(change, decisions.get(change.id)))
  return new Map([...decisions, ...applied.map(({ id }) => [id, 'refused'] as const)])
}

/** decide returns the decisions with one more; null reopens the change. */
export function decide(decisions: Decisions, id: number, decision: Decision | null): Decisions {
  const next = new Map(decisions)
  if (decision === null) next.delete(id)
  else next.set(id, decision)
  return next
}

/** Length of the context on either side of a change, in characters. */
const aroundMax = 12

/** contextOf returns the context of a change within its line, truncated to aroundMax characters on either side. */
export function contextOf(text: string, { start, end }: TextRange): { before: string; after: string } {
  // One character more than is shown, each up to two UTF-16 units long.
  const most = 2 * (aroundMax + 1)
  const line = text.lastIndexOf('\n', start - 1) + 1
  const before = [...text.slice(Math.max(line, start - most), start)]
  const after = [...text.slice(end, Math.min(lineEnd(text, end), end + most))]
  return {
    before: (before.length > aroundMax ? '…' : '') + before.slice(-aroundMax).join(''),
    after: after.slice(0, aroundMax).join('') + (after.length > aroundMax ? '…' : ''),
  }
}
