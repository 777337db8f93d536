import { type Change, type ChangeKind, changeKinds, type Proofreading, type TextRange } from '@/lib/stream'

/** What the reader has decided of a change; a change that is not in a map of decisions is open. */
export type Decision = 'accepted' | 'refused'

export type Decisions = ReadonlyMap<number, Decision>

/** The decisions as the server has them. */
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

/** Whether a change is in the text that results: open ones are, except questions. */
export function isApplied({ question }: Change, decision: Decision | undefined): boolean {
  return decision === 'accepted' || (decision === undefined && question !== true)
}

/** The changes that stand in the text as they say, in its order; those that overlap one before are left out. */
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

/** A part of a text: as it was, or with a change. */
export type Segment = string | Change

/** A text cut at its changes. `offset` is where it stands in the whole text. */
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

/** The text that results from the decisions. */
export function resultOf(text: string, changes: readonly Change[], decisions: Decisions): string {
  return segmentsOf(text, 0, changes)
    .map((part) => {
      if (typeof part === 'string') return part
      return isApplied(part, decisions.get(part.id)) ? part.after : part.before
    })
    .join('')
}

/** A paragraph of the text with its changes; with a change across a line end, several lines. */
export interface Paragraph {
  readonly start: number
  readonly text: string
  readonly changes: readonly Change[]
}

/** The paragraphs of a text. `changes` are sorted. */
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

/** How many changes there are of each kind, without those of which there are none. */
export function countKinds(changes: readonly Change[]): ReadonlyMap<ChangeKind, number> {
  const counts = changeKinds.map((kind) => [kind, changes.filter((change) => change.kind === kind).length])
  return new Map((counts as [ChangeKind, number][]).filter(([, count]) => count > 0))
}

/** The decisions when all of some changes are accepted. A question stays as it is: only the reader can answer it. */
export function acceptAll(decisions: Decisions, changes: readonly Change[]): Decisions {
  const all = changes.filter(({ question }) => question !== true)
  return new Map([...decisions, ...all.map(({ id }) => [id, 'accepted'] as const)])
}

/** The decisions when the text of some changes is to be as it was; a question that is open is so already. */
export function refuseAll(decisions: Decisions, changes: readonly Change[]): Decisions {
  const applied = changes.filter((change) => isApplied(change, decisions.get(change.id)))
  return new Map([...decisions, ...applied.map(({ id }) => [id, 'refused'] as const)])
}

/** The decisions with one more; null leaves the change open. */
export function decide(decisions: Decisions, id: number, decision: Decision | null): Decisions {
  const next = new Map(decisions)
  if (decision === null) next.delete(id)
  else next.set(id, decision)
  return next
}

/** How much of the text is shown around a change, in characters. */
const aroundMax = 12

/** What stands in the line of a change before and after it, cut short. */
export function aroundOf(text: string, { start, end }: TextRange): { before: string; after: string } {
  // One more than is shown, of characters that are two units long.
  const most = 2 * (aroundMax + 1)
  const line = text.lastIndexOf('\n', start - 1) + 1
  const before = [...text.slice(Math.max(line, start - most), start)]
  const after = [...text.slice(end, Math.min(lineEnd(text, end), end + most))]
  return {
    before: (before.length > aroundMax ? '…' : '') + before.slice(-aroundMax).join(''),
    after: after.slice(0, aroundMax).join('') + (after.length > aroundMax ? '…' : ''),
  }
}
