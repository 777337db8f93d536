import type { ProofreadChange, ProofreadRange } from '../api'
import { count, type Fields, fields, text } from './fields'

/** changeKinds are the kinds of changes, in the order of the list. */
export const changeKinds = ['typo', 'variation', 'honorific', 'wordy', 'fact'] as const

export type ChangeKind = Change['kind']

/** A range of a text, in UTF-16 code units. */
export type TextRange = Readonly<ProofreadRange>

/** Change is a proposed change to a text: it replaces `before` at its range. The ids start at 1. */
export type Change = Readonly<ProofreadChange>

/** Proofreading is a text being proofread, with the results so far. */
export interface Proofreading {
  readonly text: string
  /** In the order of publication. */
  readonly changes: readonly Change[]
  /** The number of the model's proposals that did not match the text. */
  readonly dropped: number
  /** The ranges that could not be proofread. */
  readonly unchecked: readonly TextRange[]
}

export type ProofreadPart =
  | { readonly type: 'proofread-text'; readonly index: number; readonly text: string }
  | { readonly type: 'change'; readonly change: Change }
  | {
      readonly type: 'proofread'
      readonly dropped: number
      readonly unchecked: readonly TextRange[]
    }

/** A text being received: its blocks by their index. */
export interface ReceivedProofreading extends Proofreading {
  readonly blocks: readonly string[]
}

/**
 * withProofread adds a part. Parts are repeated on every connection, and the same index or id replaces an earlier one.
 */
export function withProofread(
  known: ReceivedProofreading | null,
  part: ProofreadPart,
): ReceivedProofreading | null {
  switch (part.type) {
    case 'proofread-text':
      return withBlock(known, part.index, part.text)
    case 'change':
      // A change without a text is ignored.
      return known && withChange(known, part.change)
    case 'proofread':
      return known && { ...known, dropped: part.dropped, unchecked: part.unchecked }
  }
}

function withBlock(known: ReceivedProofreading | null, index: number, block: string): ReceivedProofreading {
  const base = known ?? { text: '', blocks: [], changes: [], dropped: 0, unchecked: [] }
  if (base.blocks[index] === block) return base
  const blocks = [...base.blocks]
  blocks[index] = block
  return { ...base, blocks, text: blocks.join('') }
}

function withChange(known: ReceivedProofreading, change: Change): ReceivedProofreading {
  const { changes } = known
  const at = changes.findIndex(({ id }) => id === change.id)
  if (at === -1) return { ...known, changes: [...changes, change] }
  return { ...known, changes: changes.with(at, change) }
}

export function decodeProofreadText(f: Fields): ProofreadPart | null {
  const { index, text: block } = fields(f.data)
  const at = count(index)
  return at === null || typeof block !== 'string' ? null : { type: 'proofread-text', index: at, text: block }
}

export function decodeChange(f: Fields): ProofreadPart | null {
  const data = fields(f.data)
  const range = decodeRange(data)
  const id = count(data.id)
  const kind = changeKinds.find((known) => known === data.kind)
  if (!id || range === null || kind === undefined) return null
  const { start, end } = range
  const question = data.question === true
  return {
    type: 'change',
    change: {
      id,
      start,
      end,
      before: text(data.before),
      after: text(data.after),
      kind,
      reason: text(data.reason),
      ...(question && { question }),
    },
  }
}

export function decodeProofread(f: Fields): ProofreadPart {
  const { dropped, unchecked } = fields(f.data)
  const ranges = Array.isArray(unchecked) ? unchecked : []
  return {
    type: 'proofread',
    dropped: count(dropped) ?? 0,
    unchecked: ranges.flatMap((range) => decodeRange(fields(range)) ?? []),
  }
}

function decodeRange(f: Fields): TextRange | null {
  const start = count(f.start)
  const end = count(f.end)
  return start === null || end === null || end < start ? null : { start, end }
}
