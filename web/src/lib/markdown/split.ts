/*
 * An answer of 100 KB arrives in tens of thousands of pieces. Rendering all of it in each frame would take quadratic
 * time, so it is split into blocks, which are rendered once. The lexer of marked would read the whole text each time,
 * and ends paragraphs at other places than remark, which renders the blocks.
 */

/** Content is the text of a block and its kind. */
export interface Content {
  readonly source: string
  readonly kind: 'text' | 'code' | 'math'
}

/** Block is a top-level piece of a Markdown text. `start` counts UTF-16 units from the beginning of the text. */
export interface Block extends Content {
  readonly start: number
}

/** perBlock returns a function that computes a value once per block. */
export function perBlock<T>(compute: (block: Block) => T): (block: Block) => T {
  const known = new WeakMap<Block, T>()
  return (block) => {
    const value = known.get(block) ?? compute(block)
    known.set(block, value)
    return value
  }
}

/**
 * splitBlocks splits a complete text into its top-level blocks, in one pass over its lines. It splits only where the
 * parts have the same meaning separately as together. Parts that may belong together (a list and its paragraphs, lines
 * without a blank line between them) stay together for the renderer. Displayed mathematics, which Markdown does not
 * support, is a block from `$$` or `\[` at the start of a line to its end, across blank lines.
 */
export function splitBlocks(text: string): readonly Block[] {
  return new Splitter(normalizeLines(text), 0, false).split()
}

/**
 * GrowingText splits a text that grows at its end. It processes only the last two blocks, because an incomplete line
 * may end the block before it or join it. While the text grows, an unclosed fence or formula extends to its end.
 */
export class GrowingText {
  #text = ''
  #blocks: readonly Block[] = []

  /** Returns the blocks of `text`. Settled blocks are the same objects as before. */
  update(raw: string): readonly Block[] {
    const text = normalizeLines(raw)
    if (text === this.#text) return this.#blocks
    const settled = text.startsWith(this.#text) ? this.#blocks.slice(0, -2) : []
    const from = settled.length === 0 ? 0 : (this.#blocks[settled.length]?.start ?? 0)
    this.#blocks = [...settled, ...new Splitter(text, from, true).split()]
    this.#text = text
    return this.#blocks
  }
}

const marker = '(?:>|(?:[-*+]|\\d{1,9}[.)])[ \\t])'

/**
 * No real text nests quotations and lists twenty levels deep, and each level is a level of recursion in all later
 * steps.
 */
const tooDeep = new RegExp(`^((?:[ \\t]*${marker}){20})(?:[ \\t]*${marker})+`, 'gm')

function normalizeLines(text: string): string {
  return (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text).replace(tooDeep, '$1')
}

const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/
const listItem = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
const heading = /^ {0,3}#{1,6}(?:[ \t]|$)/

/** The kind of the current block, as far as it decides where the block ends. */
type Shape = 'paragraph' | 'list' | 'indented'

class Splitter {
  readonly #blocks: Block[] = []
  /** The start of the current block, or -1 between blocks. */
  #start = -1
  #shape: Shape = 'paragraph'
  #blank = false
  #at: number

  constructor(
    private readonly text: string,
    from: number,
    private readonly growing: boolean,
  ) {
    this.#at = from
  }

  split(): readonly Block[] {
    while (this.#at < this.text.length) {
      const line = this.#lineAt(this.#at)
      if (line.trim() === '') {
        this.#blank = true
        this.#at += line.length + 1
      } else if (!this.#whole(line)) {
        this.#gather(line)
        this.#at += line.length + 1
      }
    }
    this.#close(this.text.length)
    return this.#blocks
  }

  /** Consumes a whole fence or formula, if one begins here at the top level. */
  #whole(line: string): boolean {
    if (this.#inList(line)) return false
    if (/^ {0,3}<details(?:[ \t]+open)?[ \t]*>/i.test(line)) return this.#folded()
    const mark = fence.exec(line)?.[1]
    const end = mark === undefined ? this.#mathEnd(line) : this.#fenceEnd(mark)
    return end !== -1 && this.#take(end, mark === undefined ? 'math' : 'code')
  }

  /** Consumes a details element with its content. */
  #folded(): boolean {
    let depth = 0
    for (let at = this.#at; at < this.text.length; at = this.#next(at)) {
      for (const [tag] of this.#lineAt(at).matchAll(/<\/?details\b/gi)) depth += tag[1] === '/' ? -1 : 1
      if (depth <= 0) return this.#take(this.#next(at), 'text')
    }
    return this.growing && this.#take(this.text.length, 'text')
  }

  /** Ends the current block, and adds the text up to `end` as another one. */
  #take(end: number, kind: Block['kind']): true {
    this.#close(this.#at)
    this.#add(this.#at, end, kind)
    this.#at = end
    return true
  }

  #add(start: number, end: number, kind: Block['kind']): void {
    this.#blocks.push({ start, source: copyOf(this.text, start, end), kind })
  }

  /** Adds a line to the current block, or begins one with it. */
  #gather(line: string): void {
    if (this.#start !== -1 && this.#endsBefore(line)) this.#close(this.#at)
    if (this.#start === -1) {
      this.#start = this.#at
      this.#shape = shapeOf(line)
    }
    this.#blank = false
    // A heading or a rule always ends its block.
    if (this.#shape === 'paragraph' && heading.test(line))
      this.#close(Math.min(this.#at + line.length + 1, this.text.length))
  }

  #endsBefore(line: string): boolean {
    if (this.#shape === 'list') return this.#blank && !listItem.test(line) && !/^[ \t]/.test(line)
    if (this.#shape === 'indented') return !/^(?: {4}|\t)/.test(line)
    // A list may directly follow a paragraph. The two look the same together and apart.
    return this.#blank || heading.test(line)
  }

  /** Whether the line belongs to the current list, whatever it looks like. */
  #inList(line: string): boolean {
    return this.#start !== -1 && this.#shape === 'list' && /^(?: {2,}|\t)/.test(line)
  }

  /** The end of the fence that `mark` opens here, including its last line break. */
  #fenceEnd(mark: string): number {
    const close = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`)
    for (let at = this.#next(this.#at); at < this.text.length; at = this.#next(at)) {
      if (close.test(this.#lineAt(at))) return Math.min(this.#next(at), this.text.length)
    }
    return this.text.length
  }

  /** The end of the formula that begins here, or -1 if it is not a formula: `\[a\] and more` is part of a sentence. */
  #mathEnd(line: string): number {
    const open = /^ {0,3}(\$\$|\\\[)/.exec(line)
    if (open === null) return -1
    const close = open[1] === '$$' ? '$$' : '\\]'
    const from = this.#at + open[0].length
    const end = this.text.indexOf(close, from)
    const first = line.slice(open[0].length)
    if (end === -1) return this.growing && !first.includes('$') ? this.text.length : -1
    // If there is text on the line of the opening dollars, they must be closed on it to be a formula.
    if (close === '$$' && first.trim() !== '' && end > this.#at + line.length && first.includes('$'))
      return -1
    const rest = this.#lineAt(end + 2)
    return rest.trim() === '' ? Math.min(end + 2 + rest.length + 1, this.text.length) : -1
  }

  #close(end: number): void {
    if (this.#start !== -1) this.#add(this.#start, end, this.#shape === 'indented' ? 'code' : 'text')
    this.#start = -1
    this.#blank = false
  }

  #lineAt(at: number): string {
    const end = this.text.indexOf('\n', at)
    return this.text.slice(at, end === -1 ? undefined : end)
  }

  #next(at: number): number {
    const end = this.text.indexOf('\n', at)
    return end === -1 ? this.text.length : end + 1
  }
}

/**
 * copyOf returns a piece of a text that does not retain the whole text. `slice` returns a view: each block of a growing
 * text would retain the text of that time, some 30 MB in total for an answer of 100 KB.
 */
function copyOf(text: string, start: number, end: number): string {
  return ` ${text.slice(start, end)}`.slice(1)
}

function shapeOf(line: string): Shape {
  if (/^(?: {4}|\t)/.test(line)) return 'indented'
  return listItem.test(line) && !rule.test(line) ? 'list' : 'paragraph'
}
