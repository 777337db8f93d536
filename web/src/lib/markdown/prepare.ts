import { closingRun, runLength } from './runs'
import type { Content } from './split'

/** Prepared is a block as input of the renderer, and whether it has formulas. */
export interface Prepared {
  readonly markdown: string
  readonly math: boolean
}

/**
 * prepare converts models' notation into Markdown that the renderer supports. `\( … \)` and `\[ … \]` become dollars,
 * dollar signs of prices are escaped, and footnotes, which would need the whole text, stay as typed.
 */
export function prepare({ source, kind }: Content): Prepared {
  if (kind === 'math') return { markdown: `$$\n${mathBody(source)}\n$$`, math: true }
  if (kind === 'code') return { markdown: source, math: false }
  const writer = new Writer(source)
  const markdown = writer.write()
  return { markdown, math: writer.math }
}

function mathBody(source: string): string {
  const body = source.trim()
  const inner = body.startsWith('$$')
    ? body.slice(2).replace(/\$\$$/, '')
    : body.slice(2).replace(/\\\]$/, '')
  return inner.replace(/\n\s*\n/g, '\n').trim()
}

const fence = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/
/** A number that begins like a link or a definition, but has no address: a citation followed by words. */
const cited = /^\[(\d{1,3})\](?=[(:](?![ \t]*<?(?:https?:|mailto:)))/i
const footnote = /^([ \t>]*)\[\^([^\]\s]+)\]:/

/** One pass over a block that copies code and rewrites the rest. */
class Writer {
  math = false
  #at = 0
  #out = ''

  constructor(private readonly source: string) {}

  write(): string {
    while (this.#at < this.source.length) {
      if (this.#at === 0 || this.source[this.#at - 1] === '\n') this.#line()
      this.#character()
    }
    return this.#out
  }

  /** At the start of a line: copies a whole fence, or escapes the definition of a footnote. */
  #line(): void {
    for (;;) {
      const end = this.source.indexOf('\n', this.#at)
      const line = this.source.slice(this.#at, end === -1 ? undefined : end)
      const open = fence.exec(line)
      if (open === null) {
        const note = footnote.exec(line)
        if (note !== null) this.#copy(note[0].length, `${note[1]}\\[^${note[2]}\\]:`)
        return
      }
      this.#copy(this.#fenceLength(open[1] ?? '```'))
      if (this.#at >= this.source.length) return
    }
  }

  #fenceLength(mark: string): number {
    const close = new RegExp(`\\n[ \\t>]*\\${mark[0]}{${mark.length},}[ \\t]*(?:\\n|$)`)
    const rest = this.source.slice(this.#at)
    const match = close.exec(rest)
    return match === null ? rest.length : match.index + match[0].length
  }

  #character(): void {
    const char = this.source[this.#at]
    if (char === '\\') this.#backslash()
    else if (char === '`') this.#codeSpan()
    else if (char === '$') this.#dollar()
    else if (char === '[') this.#bracket()
    else if (char !== undefined) this.#copy(1)
  }

  #bracket(): void {
    const match = cited.exec(this.source.slice(this.#at, this.#at + 40))
    if (match === null) this.#copy(1)
    else this.#copy(match[0].length, `\\[${match[1]}\\]`)
  }

  #backslash(): void {
    const next = this.source[this.#at + 1]
    if (next === '(' || next === '[') {
      const close = next === '(' ? '\\)' : '\\]'
      const inner = this.#until(close, this.#at + 2)
      if (inner !== null && inner.trim() !== '' && !inner.includes('$')) {
        this.math = true
        const mark = next === '(' ? '$' : '$$'
        // Delimiters on separate lines stay there, as for displayed mathematics in a list.
        const body = inner.startsWith('\n') ? inner : inner.trim()
        this.#copy(inner.length + 4, mark + body + mark)
        return
      }
    }
    this.#copy(2)
  }

  /** A run of backticks and everything up to its closing run. An unclosed run is text. */
  #codeSpan(): void {
    const run = runLength(this.source, this.#at)
    const inner = this.#closing('`', run)
    this.#copy(inner === null ? run : inner + 2 * run)
  }

  #dollar(): void {
    const run = runLength(this.source, this.#at)
    const inner = this.#closing('$', run)
    if (inner !== null && (run > 1 || this.#isFormula(inner))) {
      this.math = true
      this.#copy(inner + 2 * run)
    } else {
      this.#copy(run, '\\$'.repeat(run))
    }
  }

  /** Distinguishes `$x$` from prices by Pandoc's rules, and because formulas contain no Japanese outside `\text{…}`. */
  #isFormula(length: number): boolean {
    const inner = this.source.slice(this.#at + 1, this.#at + 1 + length)
    const after = this.source[this.#at + 2 + length] ?? ''
    if (inner === '' || /^\s|\s$/.test(inner) || /\d/.test(after)) return false
    return !/[\u3040-\u30ff、。「」]/.test(inner.replace(/\\[a-z]+\{[^}]*\}/g, ''))
  }

  /** The number of characters between the run here and its closing run of the same length. */
  #closing(mark: string, run: number): number | null {
    const from = this.#at + run
    const close = closingRun(this.source, from, mark, run)
    return close === -1 || hasBlankLine(this.source.slice(from, close)) ? null : close - from
  }

  #until(close: string, from: number): string | null {
    const end = this.source.indexOf(close, from)
    if (end === -1) return null
    const inner = this.source.slice(from, end)
    return hasBlankLine(inner) ? null : inner
  }

  #copy(length: number, as = this.source.slice(this.#at, this.#at + length)): void {
    this.#out += as
    this.#at += length
  }
}

function hasBlankLine(text: string): boolean {
  return /\n[ \t]*\n/.test(text)
}
