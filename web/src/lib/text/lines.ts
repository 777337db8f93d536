/** The maximum size of the table that compares two texts line by line. */
const maxCells = 4_000_000

/**
 * matchLines returns the lines of a longest common subsequence of two texts: from their place in `a` to that in `b`. Of
 * texts that are too long to compare, only the lines at the beginning and at the end match.
 */
export function matchLines(a: readonly string[], b: readonly string[]): ReadonlyMap<number, number> {
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
