/** The maximum size of a file, in bytes. */
export const MAX_FILE_BYTES = 1 << 20

/**
 * decodeText decodes a file from a spreadsheet: UTF-8 or UTF-16 with a byte order mark, UTF-8 without one, or
 * Shift_JIS, which Excel in Japan uses for CSV. It throws a TypeError for anything else.
 */
export function decodeText(bytes: Uint8Array): string {
  for (const encoding of [encodingByMark(bytes) ?? 'utf-8', 'shift_jis']) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
      if (!text.includes('\0')) return text
    } catch {
      // Try the next encoding.
    }
  }
  throw new TypeError('not a text')
}

function encodingByMark(bytes: Uint8Array): string | null {
  const [a, b, c] = bytes
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  return a === 0xef && b === 0xbb && c === 0xbf ? 'utf-8' : null
}

/** A line of a table, and its line number in the text. */
export interface CsvLine {
  /** From 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * readCsv parses a pasted list or a CSV file (RFC 4180, with tabs, semicolons or full-width commas as well), without
 * empty lines. A quoted cell may contain separators and line breaks. An unclosed quote extends to the end of the text.
 */
export function readCsv(text: string): CsvLine[] {
  const separator = separatorOf(text)
  const lines: CsvLine[] = []
  let cells: string[] = []
  let cell = ''
  let quoted = false
  let line = 1
  let start = 1
  const endLine = () => {
    cells.push(cell.trim())
    if (cells.some((item) => item !== '')) lines.push({ line: start, cells })
    cells = []
    cell = ''
  }
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\n' || (char === '\r' && text.charAt(at + 1) !== '\n')) {
      line += 1
      if (quoted) {
        cell += '\n'
        continue
      }
      endLine()
      start = line
    } else if (quoted) {
      if (char !== '"') cell += char
      else if (text.charAt(at + 1) === '"') {
        cell += '"'
        at += 1
      } else quoted = false
    } else if (char === '"' && cell.trim() === '') {
      cell = ''
      quoted = true
    } else if (separator.has(char)) {
      cells.push(cell.trim())
      cell = ''
    } else if (char !== '\r') cell += char
  }
  endLine()
  return lines
}

const TABS = new Set(['\t'])
const COMMAS = new Set([',', ';', '，'])

// Cells copied from a spreadsheet are separated by tabs, and may contain commas. A quoted cell may contain a tab.
function separatorOf(text: string): ReadonlySet<string> {
  return text.replace(/"[^"]*"/g, '').includes('\t') ? TABS : COMMAS
}
