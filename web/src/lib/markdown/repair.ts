import { closingRun, runLength } from './runs'
import type { Content } from './split'

/**
 * repairTail repairs the source of the last block of a growing text, so that it looks as it will when its open syntax
 * is closed. It closes open emphasis and code. It withholds ambiguous syntax (half a link, a formula, the first line of
 * a table, a lone `-`) until the deciding characters arrive. So no visible content changes its kind.
 */
export function repairTail({ source, kind }: Content): string {
  if (kind === 'math') return isClosedMath(source) ? source : ''
  if (kind === 'code') return repairCode(source)
  const fenced = openFence(source)
  if (fenced !== null) return source.slice(0, fenced) + repairCode(source.slice(fenced))
  if (endsWithFence(source)) return source
  return repairText(source)
}

function isClosedMath(source: string): boolean {
  const body = source.trim()
  if (body.startsWith('$$')) return body.length > 4 && body.endsWith('$$')
  return body.endsWith('\\]')
}

/** repairCode withholds an incomplete opening line of a fence, and a last line that may be its end. */
function repairCode(source: string): string {
  const fence = /^[ \t]*(`{3,}|~{3,})/.exec(source)
  if (fence === null) return source
  if (!source.includes('\n')) return ''
  return source.replace(/\n[ \t>]*(`{1,}|~{1,})$/, '')
}

/** Whether the last line is the end of a fence. */
function endsWithFence(source: string): boolean {
  const start = source.trimEnd().lastIndexOf('\n') + 1
  return /^[ \t>]*(?:`{3,}|~{3,})\s*$/.test(source.slice(start)) && openFence(source.slice(0, start)) !== null
}

/** The start of a fence that is still open at the end of a list or a quotation, or null. */
function openFence(source: string): number | null {
  let open: { mark: string; at: number } | null = null
  let at = 0
  for (const line of source.split('\n')) {
    const match = /^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}|~{3,})(.*)$/.exec(line)
    const mark = match?.[2] ?? ''
    if (match !== null && open === null) open = { mark, at: at + (match[1]?.length ?? 0) }
    else if (open !== null && mark.startsWith(open.mark) && match?.[3]?.trim() === '') open = null
    at += line.length + 1
  }
  return open?.at ?? null
}

function repairText(source: string): string {
  const decided = withoutUndecidedTable(withoutUndecidedLine(source))
  if (decided === '') return ''
  return startsTable(decided) ? repairTable(decided) : repairInline(decided)
}

/**
 * withoutUndecidedLine withholds a line of only punctuation, which may become a rule, a heading's underline, a list
 * item, a fence or a quotation.
 */
function withoutUndecidedLine(source: string): string {
  const start = source.lastIndexOf('\n') + 1
  if (!/^[ \t>]*(?:[-*+=_`~>#|: \t]+|\d{1,9}[.)]?[ \t]*)$/.test(source.slice(start))) return source
  const isRule = startsTable(source) && start > 0 && source.indexOf('\n') === start - 1
  return isRule ? source : source.slice(0, Math.max(0, start - 1))
}

/**
 * withoutUndecidedTable withholds lines with bars after a paragraph until they are a table, which then is a separate
 * block.
 */
function withoutUndecidedTable(source: string): string {
  if (startsTable(source) || source.endsWith('\n\n')) return source
  const lines = source.replace(/\n$/, '').split('\n')
  let first = lines.length
  while (first > 0 && /^[ \t]*\|/.test(lines[first - 1] ?? '')) first--
  const bars = lines.length - first
  const undecided = bars === 1 || (bars === 2 && /^[ \t|:-]*$/.test(lines[first + 1] ?? ''))
  return undecided ? lines.slice(0, first).join('\n') : source
}

function startsTable(source: string): boolean {
  return /^[ \t]*\|/.test(source)
}

/**
 * repairTable withholds a table until its second line, which identifies it, and completes an incomplete delimiter row.
 */
function repairTable(source: string): string {
  const [head = '', rule, ...rows] = source.split('\n')
  if (rule === undefined) return ''
  if (rows.length === 0) {
    if (!/^[ \t]*\|?[ \t|:-]*$/.test(rule)) return repairInline(source)
    const cells = head
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/).length
    return `${head}\n|${' --- |'.repeat(cells)}`
  }
  const last = source.lastIndexOf('|')
  return source.slice(0, last + 1) + repairInline(source.slice(last + 1))
}

/** repairInline closes or hides open syntax in the last paragraph, list item or cell. */
function repairInline(source: string): string {
  const from = segmentStart(source)
  return source.slice(0, from) + new Tail(source.slice(from)).repair()
}

/**
 * segmentStart returns the start of the last segment. Emphasis does not span blank lines, list items, quotations or
 * headings.
 */
function segmentStart(source: string): number {
  let start = 0
  const boundary =
    /\n(?=[ \t]*\n|[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]|[ \t]*>|[ \t]*#{1,6}[ \t])|(?<=\n)[ \t]*\n/g
  for (const match of source.matchAll(boundary)) start = match.index + match[0].length
  const marker = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|#{1,6}[ \t]+)*(?:\[[ xX]\][ \t]+)?/.exec(
    source.slice(start),
  )
  return start + (marker?.[0].length ?? 0)
}

/** The maximum length of withheld text in brackets. */
const maxHidden = 80

const delimiters = new Set(['*', '~', '_'])

class Tail {
  readonly #open: string[] = []
  #bracket = -1

  constructor(private readonly text: string) {}

  repair(): string {
    for (let at = 0; at < this.text.length; ) {
      const next = this.#step(at)
      if (typeof next === 'string') return next
      at = next
    }
    return this.#close(this.#hideBracket(this.text))
  }

  /** Returns the position after the syntax at a position, or the repaired text if the rest is withheld. */
  #step(at: number): number | string {
    const char = this.text[at] ?? ''
    if (char === '\\') return this.#backslash(at)
    if (char === '`') return this.#code(at)
    if (char === '$') return this.#dollars(at)
    if (char === ']') return this.#afterBracket(at)
    if (char === '<') return this.#angle(at)
    if (delimiters.has(char)) return this.#emphasis(at, char)
    if (char === '[') this.#bracket = this.text[at - 1] === '!' ? at - 1 : at
    return at + 1
  }

  /** Closes open syntax, innermost first. It removes open marks around nothing. */
  #close(text: string): string {
    let closed = text.replace(/!$/, '')
    for (const mark of this.#open.toReversed()) {
      const bare = closed.trimEnd()
      closed = bare.endsWith(mark) ? bare.slice(0, -mark.length) : bare + mark
    }
    return closed
  }

  /** Withholds an open formula, and a backslash at the end, which escapes a character that has not arrived. */
  #backslash(at: number): number | string {
    const mark = this.text[at + 1]
    if (mark !== undefined && mark !== '(' && mark !== '[') return at + 2
    const closed = mark !== undefined && this.text.includes(mark === '(' ? '\\)' : '\\]', at + 2)
    return closed ? at + 2 : this.#close(this.text.slice(0, at))
  }

  #code(at: number): number | string {
    const run = runLength(this.text, at)
    const close = closingRun(this.text, at + run, '`', run)
    if (close !== -1) return close + run
    const inner = this.text.slice(at + run)
    const begun = this.text.slice(0, at)
    // A shorter run at the end may be the beginning of the closing one.
    const body = inner.replace(/`+$/, '')
    if (body.trim() === '') return this.#close(begun)
    const mark = '`'.repeat(run)
    return this.#close(begun + mark + body.trimEnd() + mark)
  }

  /** Withholds an open formula, but not a price. */
  #dollars(at: number): number | string {
    const run = runLength(this.text, at)
    const close = closingRun(this.text, at + run, '$', run)
    if (close !== -1) return close + run
    const inner = this.text.slice(at + run)
    const formula =
      run > 1 || (/^[^\s\d]/.test(inner) && !/[\u3040-\u30ff\u3400-\u9fff、。]/.test(inner)) || inner === ''
    return formula ? this.#close(this.text.slice(0, at)) : at + run
  }

  /** Withholds text in brackets, which may be a link, a picture or a citation, unless it gets long. */
  #hideBracket(text: string): string {
    const start = this.#bracket
    return start === -1 || text.length - start > maxHidden ? text : text.slice(0, start)
  }

  #afterBracket(at: number): number | string {
    if (this.#bracket === -1) return at + 1
    const start = this.#bracket
    // The bracket is the last character so far; the next one decides.
    if (at === this.text.length - 1) return at + 1
    this.#bracket = -1
    if (this.text[at + 1] !== '(') return at + 1
    const number = /^\[\d{1,3}$/.test(this.text.slice(start, at))
    if (number) {
      const address = addressStart(this.text.slice(at + 2))
      // `[1](注)` is a citation followed by words.
      if (address === false) return at + 1
      if (address === undefined) return this.#close(this.text.slice(0, start))
    }
    const close = linkEnd(this.text, at + 1)
    if (close !== -1) return close
    if (this.text[start] === '!') return this.#close(this.text.slice(0, start))
    return this.#close(this.text.slice(0, start) + this.text.slice(start + 1, at))
  }

  /** Withholds an incomplete tag or autolink. */
  #angle(at: number): number | string {
    const inner = this.text.slice(at)
    const whole = /^<[^<>\n]*>/.exec(inner)
    if (whole !== null) return at + whole[0].length
    return /^<(?:[a-zA-Z/!][^\s<>]*)?$/.test(inner) ? this.#close(this.text.slice(0, at)) : at + 1
  }

  #emphasis(at: number, char: string): number | string {
    const run = runLength(this.text, at)
    const mark = char === '~' ? '~~' : char.repeat(Math.min(run, 2))
    if (char === '~' && run !== 2)
      return at + run < this.text.length ? at + run : this.#close(this.text.slice(0, at))
    const before = this.text[at - 1] ?? ' '
    const after = this.text[at + run]
    if (char === '_' && /\w/.test(before)) {
      if (after === undefined || /\w/.test(after)) return at + run
    }
    return this.#mark(at, run, mark, before, after)
  }

  #mark(at: number, run: number, mark: string, before: string, after: string | undefined): number | string {
    const top = this.#open.at(-1)
    if (top !== undefined && top[0] === mark[0] && !/\s/.test(before)) {
      if (run >= top.length) {
        this.#open.pop()
        return run > top.length ? this.#step(at + top.length) : at + run
      }
      // A single `*` at the end of `**text` is the first half of its closing mark.
      if (after === undefined) return this.#close(this.text.slice(0, at))
    }
    if (after === undefined) return this.#close(this.text.slice(0, at))
    if (!/\s/.test(after)) this.#open.push(...(run === 3 ? [mark, mark[0] ?? ''] : [mark]))
    return at + run
  }
}

/** addressStart reports whether a text begins with the address of a link; undefined while undecided. */
function addressStart(text: string): boolean | undefined {
  const begun = text.replace(/^[ \t]*<?/, '').toLowerCase()
  const schemes = ['https:', 'http:', 'mailto:']
  if (schemes.some((scheme) => begun.startsWith(scheme))) return true
  return schemes.some((scheme) => scheme.startsWith(begun)) ? undefined : false
}

/** The end of a link's destination in parentheses, or -1. */
function linkEnd(text: string, open: number): number {
  let depth = 0
  for (let at = open; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return at + 1
    else if (char === '\n') return at
  }
  return -1
}
