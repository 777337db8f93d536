import type { Passage } from '@/lib/api'

/** Piece is a part of a text, marked if it belongs to the selected passage. */
export interface Piece {
  readonly text: string
  readonly marked: boolean
}

export interface Row {
  readonly cells: readonly string[]
  readonly marked: boolean
}

/** Column is a column of a sheet: its letter, if known, and its heading. */
export interface Column {
  readonly letter: string
  readonly name: string
}

/** SheetRow is a row of a sheet below the headings. Its number is undefined near empty or hidden rows. */
export interface SheetRow {
  readonly number: number | undefined
  readonly cells: readonly string[]
  readonly marked: boolean
}

/** Block is a block of a text. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly pieces: readonly Piece[] }
  | { readonly kind: 'paragraph'; readonly rich: boolean; readonly pieces: readonly Piece[] }
  | {
      readonly kind: 'item'
      readonly depth: number
      readonly bullet: string
      readonly pieces: readonly Piece[]
    }
  | { readonly kind: 'table'; head: Row | null; readonly rows: Row[] }
  | { readonly kind: 'sheet'; readonly columns: readonly Column[]; readonly rows: readonly SheetRow[] }

interface Line {
  readonly text: string
  /** The offset of the line in the text. */
  readonly from: number
}

const heading = /^(#{1,6})\s+/
const item = /^(\s*)([-*+]|\d+[.)])\s+/
const tableRow = /^\s*\|.*\|\s*$/
const tableRule = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/

/**
 * blocksOf returns the blocks for the passages of one page, in order. `markdown` is true for Markdown, such as the text
 * of Office files. Other texts consist of paragraphs and, if `tables` is true, of tables in Markdown. A passage can end
 * anywhere, even within a sentence or a table.
 */
export function blocksOf(
  passages: readonly Passage[],
  markedId: string | undefined,
  markdown: boolean,
  tables = markdown,
): Block[] {
  const { text, from, to } = join(passages, markedId)
  const blocks: Block[] = []
  let lines: Line[] = []
  let apart = true
  const pieces = (at: number, end: number) => piecesOf(text, at, end, from, to)
  const flush = () => {
    const [first, last] = [lines[0], lines.at(-1)]
    if (first && last)
      blocks.push({
        kind: 'paragraph',
        rich: markdown,
        pieces: pieces(first.from, last.from + last.text.length),
      })
    lines = []
  }
  for (const line of linesOf(text)) {
    const end = line.from + line.text.length
    const marked = line.from < to && end > from
    const [titled, listed] = markdown ? [heading.exec(line.text), item.exec(line.text)] : [null, null]
    if (line.text.trim() === '') flush()
    else if (titled) {
      flush()
      blocks.push({
        kind: 'heading',
        level: titled[1]?.length ?? 1,
        pieces: pieces(line.from + titled[0].length, end),
      })
    } else if (listed) {
      flush()
      blocks.push({
        kind: 'item',
        depth: Math.min(4, Math.floor((listed[1]?.length ?? 0) / 2)),
        bullet: listed[2] ?? '-',
        pieces: pieces(line.from + listed[0].length, end),
      })
    } else if (tables && tableRow.test(line.text)) {
      flush()
      addRow(blocks, line.text, marked, apart)
    } else lines.push(line)
    apart = line.text.trim() === ''
  }
  flush()
  return blocks
}

/** join returns the text of passages and the range of the marked passage in it. */
function join(
  passages: readonly Passage[],
  markedId: string | undefined,
): { text: string; from: number; to: number } {
  let text = ''
  let [from, to] = [-1, -1]
  for (const [at, passage] of passages.entries()) {
    const before = passages[at - 1]
    if (before) text += gap(passage.start - before.end, before.text, passage.text)
    if (passage.id === markedId) [from, to] = [text.length, text.length + passage.text.length]
    text += passage.text
  }
  return { text, from, to }
}

/** gap returns white space to put between two passages. Only its length in bytes is known. */
function gap(bytes: number, before: string, after: string): string {
  if (bytes <= 0) return ''
  if (bytes > 1) return '\n\n'
  // One byte is a line break in a text with lines. Otherwise it is a space if it follows a word or an English sentence.
  if (hasLines(before) || hasLines(after)) return '\n'
  return /[\w,.;:!?)"']$/.test(before) && /^\w/.test(after) ? ' ' : '\n'
}

/** hasLines reports whether a text contains a line break within a paragraph. */
export function hasLines(text: string): boolean {
  return /[^\n]\n[^\n]/.test(text)
}

function linesOf(text: string): Line[] {
  let from = 0
  return text.split('\n').map((line) => {
    const at = from
    from += line.length + 1
    return { text: line, from: at }
  })
}

/** piecesOf splits a part of a text at the ends of the marked range. */
function piecesOf(text: string, at: number, end: number, from: number, to: number): Piece[] {
  const cuts = [at, ...[from, to].filter((cut) => cut > at && cut < end), end]
  return cuts
    .slice(1)
    .map((cut, index) => ({ begin: cuts[index] ?? at, cut }))
    .filter(({ begin, cut }) => cut > begin)
    .map(({ begin, cut }) => ({ text: text.slice(begin, cut), marked: begin >= from && cut <= to }))
}

/** addRow adds a line of a table: to the preceding table, or to a new one if a blank line separates them. */
function addRow(blocks: Block[], line: string, marked: boolean, apart: boolean): void {
  const before = blocks.at(-1)
  const table = !apart && before?.kind === 'table' ? before : null
  if (!tableRule.test(line)) {
    const row: Row = { cells: cellsOf(line), marked }
    if (table) table.rows.push(row)
    else blocks.push({ kind: 'table', head: null, rows: [row] })
    return
  }
  // The row above the rule is the head.
  if (table === null || table.head !== null || table.rows.length !== 1) return
  table.head = table.rows.pop() ?? null
  const above = blocks.at(-2)
  // A repeated head continues a long table.
  if (above?.kind === 'table' && table.head?.cells.join('|') === above.head?.cells.join('|')) blocks.pop()
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}
