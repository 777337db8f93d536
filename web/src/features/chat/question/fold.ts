/** The full-width characters in a line of a question, and the minimum number of lines that is folded to ten lines. */
const perLine = 33
const foldFrom = 14

/**
 * isLong reports whether a question is long enough to hide its answer. It estimates the height instead of measuring.
 */
export function isLong(content: string): boolean {
  let lines = 0
  for (const line of content.split('\n')) {
    lines += Math.max(1, Math.ceil(widthOf(line) / perLine))
    if (lines >= foldFrom) return true
  }
  return false
}

/** widthOf returns the width of a line in full-width characters. */
function widthOf(line: string): number {
  // A line of this length is long with any characters.
  if (line.length >= 2 * perLine * foldFrom) return line.length / 2
  let width = 0
  for (const character of line) width += character < '\u0100' ? 0.5 : 1
  return width
}
