import { matchLines } from '@/lib/text/lines'

interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** diffLines compares two texts line by line. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const matches = matchLines(a, b)
  const lines: DiffLine[] = []
  let added = 0
  const addUntil = (end: number) => {
    for (const text of b.slice(added, end)) lines.push({ kind: 'added', text })
    added = end
  }
  for (const [at, text] of a.entries()) {
    const match = matches.get(at)
    if (match === undefined) lines.push({ kind: 'removed', text })
    else {
      addUntil(match)
      lines.push({ kind: 'same', text })
      added++
    }
  }
  addUntil(b.length)
  return lines
}
