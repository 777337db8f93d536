/** runLength returns how often the character at a position is repeated there. */
export function runLength(text: string, at: number): number {
  let end = at
  while (text[end] === text[at]) end++
  return end - at
}

/** closingRun returns the position of the next run of a mark with this length, or -1. */
export function closingRun(text: string, from: number, mark: string, run: number): number {
  for (let at = text.indexOf(mark, from); at !== -1; ) {
    const length = runLength(text, at)
    if (length === run) return at
    at = text.indexOf(mark, at + length)
  }
  return -1
}
