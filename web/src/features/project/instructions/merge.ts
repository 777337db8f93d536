/** Merge is the result of merging two changes of the same text. */
interface Merge {
  readonly text: string
  /** The number of places that both changes have changed differently. The text contains both versions of each. */
  readonly conflicts: number
}

/** The maximum size of the table that compares two texts line by line. */
const maxCells = 4_000_000

/**
 * mergeTexts merges two changes of a text, line by line. A place that only one of them has changed is taken from it. Of
 * a place that both have changed, the text contains both versions, so that nothing is lost.
 */
export function mergeTexts(base: string, theirs: string, mine: string): Merge {
  const [lines, left, right] = [base.split('\n'), theirs.split('\n'), mine.split('\n')]
  const [toLeft, toRight] = [matches(lines, left), matches(lines, right)]
  const merged: string[] = []
  let conflicts = 0
  let [from, leftFrom, rightFrom] = [0, 0, 0]
  const take = (to: number, leftTo: number, rightTo: number) => {
    const piece = mergePiece(
      lines.slice(from, to),
      left.slice(leftFrom, leftTo),
      right.slice(rightFrom, rightTo),
    )
    merged.push(...piece.lines)
    if (piece.conflict) conflicts++
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

function mergePiece(
  base: string[],
  theirs: string[],
  mine: string[],
): { lines: string[]; conflict: boolean } {
  if (same(mine, base) || same(mine, theirs)) return { lines: theirs, conflict: false }
  if (same(theirs, base)) return { lines: mine, conflict: false }
  return { lines: [...theirs, ...mine], conflict: true }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at])
}

/**
 * matches returns the lines of a longest common subsequence of two texts: from their place in `a` to that in `b`. Of
 * texts that are too long to compare, only the lines at the beginning and at the end match.
 */
function matches(a: readonly string[], b: readonly string[]): Map<number, number> {
  const found = new Map<number, number>()
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) found.set(start, start++)
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) found.set(--endA, --endB)
  const [rows, columns] = [endA - start, endB - start]
  if (rows * columns > maxCells) return found
  // lengths[row][column] is the length of the longest common subsequence of the rest of both texts.
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1))
  const at = (row: number, column: number) => lengths[row]?.[column] ?? 0
  const equal = (row: number, column: number) => a[start + row] === b[start + column]
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const longest = equal(row, column)
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1))
      ;(lengths[row] as Uint16Array)[column] = longest
    }
  }
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (equal(row, column)) found.set(start + row++, start + column++)
    else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return found
}
