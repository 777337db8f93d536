/**
 * A position in an answer: the run of the generation, and the number of received UTF-8 bytes of its text. The server
 * sends it in event ids and reads it from `Last-Event-ID`.
 */
export interface Cursor {
  readonly run: number
  readonly offset: number
}

const cursorForm = /^([1-9]\d{0,8})-(0|[1-9]\d{0,14})$/

/** parseCursor parses `<run>-<offset>`. It returns null for anything else. */
export function parseCursor(id: string): Cursor | null {
  const match = cursorForm.exec(id)
  if (match === null) return null
  return { run: Number(match[1]), offset: Number(match[2]) }
}

export function formatCursor(cursor: Cursor): string {
  return `${cursor.run}-${cursor.offset}`
}

/**
 * utf8Length returns the number of bytes of `text` in UTF-8, without encoding it. A lone surrogate counts as the three
 * bytes of U+FFFD, as `TextEncoder` would write it.
 */
export function utf8Length(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4
      i++
    } else bytes += 3
  }
  return bytes
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
