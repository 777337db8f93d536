import { matchLines } from '@/lib/text/lines'

/** Merge is the result of merging two changes of the same text. */
export interface Merge {
  readonly text: string
  /** The number of places that both changes have changed differently. The text contains both versions of each. */
  readonly conflicts: number
}

/**
 * mergeTexts merges two changes of a text, line by line. A place that only one of them has changed is taken from it. Of
 * a place that both have changed, the text contains both versions, so that nothing is lost.
 */
export function mergeTexts(base: string, theirs: string, mine: string): Merge {
  const [lines, left, right] = [base.split('\n'), theirs.split('\n'), mine.split('\n')]
  const [toLeft, toRight] = [matchLines(lines, left), matchLines(lines, right)]
  const merged: string[] = []
  let conflicts = 0
  let [from, leftFrom, rightFrom] = [0, 0, 0]
  /** Adds the lines up to one that all three texts have. */
  const take = (to: number, leftTo: number, rightTo: number) => {
    const before = lines.slice(from, to)
    const [others, own] = [left.slice(leftFrom, leftTo), right.slice(rightFrom, rightTo)]
    if (same(own, before) || same(own, others)) merged.push(...others)
    else if (same(others, before)) merged.push(...own)
    else {
      merged.push(...others, ...own)
      conflicts++
    }
  }
  for (const [at, line] of lines.entries()) {
    const [leftAt, rightAt] = [toLeft.get(at), toRight.get(at)]
    if (leftAt === undefined || rightAt === undefined) continue
    take(at, leftAt, rightAt)
    merged.push(line)
    ;[from, leftFrom, rightFrom] = [at + 1, leftAt + 1, rightAt + 1]
  }
  take(lines.length, left.length, right.length)
  return { text: merged.join('\n'), conflicts }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at])
}
