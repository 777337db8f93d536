/** Full-width characters in a line of a question, and from how many lines on it is folded; it is folded to ten. */
const perLine = 33
const foldFrom = 14

/** Whether a question is so long that it would hide the answer below it. Reckoned, so that nothing need be measured. */
export function isLong(content: string): boolean {
  let lines = 0
  for (const line of content.split('\n')) {
    lines += Math.max(1, Math.ceil(widthOf(line) / perLine))
    if (lines >= foldFrom) return true
  }
  return false
}

/** The width of a line in full-width characters. */
function widthOf(line: string): number {
  // A line this long is long whatever it is made of.
  if (line.length >= 2 * perLine * foldFrom) return line.length / 2
  let width = 0
  for (const character of line) width += character < '\u0100' ? 0.5 : 1
  return width
}
