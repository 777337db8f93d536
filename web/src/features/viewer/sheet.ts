import type { Passage } from '@/lib/api'
import { type Block, hasLines } from './structure'

/** Range is a range of cells, from a locator such as `Sheet1!B12:F20`. */
interface Range {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** Line is a line of a sheet's text, with its first passage. */
interface Line {
  readonly text: string
  readonly passage: Passage
  readonly marked: boolean
  number?: number
}

const reference = /!([A-Z]{1,3})(\d{1,7})(?::([A-Z]{1,3})(\d{1,7}))?$/

/**
 * sheetBlocks returns the blocks for the passages of one sheet. The server writes a row as `品名: 板 / 数: 5` below
 * `品名 / 数`; sheetBlocks turns such rows back into a table. Everything else becomes a paragraph.
 */
export function sheetBlocks(passages: readonly Passage[], markedId: string | undefined): Block[] {
  const lines = linesOf(passages, markedId)
  numberLines(lines)
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; ) {
    const head = headingsAt(lines, at)
    const names = head ?? namesOf(lines[at]?.text ?? '')
    const first = head ? at + 1 : at
    let end = first
    while (names && end < lines.length && pairsOf(lines[end]?.text ?? '', names)) end++
    const line = lines[at]
    if (names && end > first) {
      blocks.push(tableOf(names, lines.slice(head ? at : first, end), lines.slice(first, end)))
      at = end
    } else {
      if (line) blocks.push(paragraph(line))
      at++
    }
  }
  return blocks
}

function paragraph({ text, marked }: Line): Block {
  const title = /^#{1,6}\s+/.exec(text)
  const pieces = [{ text: text.slice(title?.[0].length ?? 0), marked }]
  return title ? { kind: 'heading', level: 1, pieces } : { kind: 'paragraph', rich: false, pieces }
}

/** linesOf returns the lines of passages. It joins a line that two passages share. */
function linesOf(passages: readonly Passage[], markedId: string | undefined): Line[] {
  const lines: Line[] = []
  for (const [at, passage] of passages.entries()) {
    const before = passages[at - 1]
    const cut = before !== undefined && passage.start - before.end < 2
    const marked = passage.id === markedId
    for (const [index, text] of passage.text.split(/\n{2,}/).entries()) {
      const last = lines.at(-1)
      if (index === 0 && cut && last) {
        const gap = hasLines(last.text) || hasLines(text) ? '\n' : ' '
        const space = passage.start > (before?.end ?? 0) ? gap : ''
        lines[lines.length - 1] = { ...last, text: last.text + space + text, marked: last.marked || marked }
      } else lines.push({ text, passage, marked })
    }
  }
  return lines
}

/** numberLines numbers the lines of each passage by its range, if the range has no missing rows. */
function numberLines(lines: readonly Line[]): void {
  for (let at = 0; at < lines.length; ) {
    const passage = lines[at]?.passage
    let end = at
    while (end < lines.length && lines[end]?.passage === passage) end++
    const own = lines.slice(at, end).filter(({ text }) => !text.startsWith('#'))
    const range = rangeOf(passage?.locator ?? '')
    if (range) {
      const whole = range.bottom - range.top + 1 === own.length
      for (const [index, line] of own.entries()) if (whole) line.number = range.top + index
      // The number of the last row is always known.
      const last = own.at(-1)
      if (last) last.number = range.bottom
    }
    at = end
  }
}

function rangeOf(locator: string): Range | undefined {
  const found = reference.exec(locator)
  if (!found) return undefined
  const [, left = '', top = '', right = left, bottom = top] = found
  return { left: numberOf(left), right: numberOf(right), top: Number(top), bottom: Number(bottom) }
}

function numberOf(letters: string): number {
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0)
}

function lettersOf(column: number): string {
  return column <= 0
    ? ''
    : lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26))
}

/** headingsAt returns the headings in a line if rows for them follow. */
function headingsAt(lines: readonly Line[], at: number): string[] | undefined {
  const names = lines[at]?.text.split(' / ') ?? []
  const next = lines[at + 1]?.text
  return names.length > 1 && next !== undefined && pairsOf(next, names) ? names : undefined
}

/** namesOf returns the headings that a row contains, if every value has one. */
function namesOf(text: string): string[] | undefined {
  const names = text.split(' / ').map((part) => /^(.{1,60}?): /.exec(part)?.[1])
  return names.length > 1 && names.every((name) => name !== undefined) ? (names as string[]) : undefined
}

/** pairsOf returns the values of a row by heading, or undefined for other lines. */
function pairsOf(text: string, names: readonly string[]): Map<string, string> | undefined {
  const values = new Map<string, string>()
  let last: string | undefined
  for (const part of text.split(' / ')) {
    const name = names.find((one) => part.startsWith(`${one}: `) && !values.has(one))
    if (name !== undefined) {
      values.set(name, part.slice(name.length + 2))
      last = name
    } else if (last === undefined) return undefined
    // The value contains a slash.
    else values.set(last, `${values.get(last)} / ${part}`)
  }
  return values
}

function tableOf(names: readonly string[], all: readonly Line[], lines: readonly Line[]): Block {
  const ranges = all.map(({ passage }) => rangeOf(passage.locator)).filter((range) => range !== undefined)
  const left = Math.min(...ranges.map((range) => range.left))
  const right = Math.max(...ranges.map((range) => range.right))
  const known = ranges.length > 0 && right - left + 1 === names.length
  return {
    kind: 'sheet',
    columns: names.map((name, at) => ({ name, letter: known ? lettersOf(left + at) : '' })),
    rows: lines.map(({ text, number, marked }) => {
      const values = pairsOf(text, names)
      return { number, marked, cells: names.map((name) => values?.get(name) ?? '') }
    }),
  }
}
