import { Marked, type TokenizerExtension } from 'marked'

/** A top-level piece of a Markdown text. `start` counts UTF-16 units from the beginning of the text. */
export interface Block {
  readonly start: number
  readonly source: string
  readonly kind: 'text' | 'code' | 'math'
}

/**
 * Displayed mathematics, which Markdown itself does not know: `$$ … $$` or `\[ … \]` from the start of a line, over
 * blank lines too. While the text grows, one without its end reaches to the end of the text, like a fence; in a text
 * that is complete it is just text.
 */
function displayMath(growing: boolean): TokenizerExtension {
  const open = growing ? '|$' : ''
  const dollars = new RegExp(
    `^ {0,3}\\$\\$(?:[^\\n$]+\\$\\$[ \\t]*(?:\\n+|$)|[^\\n$]*\\n[\\s\\S]*?(?:\\$\\$[ \\t]*(?:\\n+|$)${open})${
      growing ? '|[^\\n$]*\\$?$' : ''
    })`,
  )
  const brackets = new RegExp(`^ {0,3}\\\\\\[[\\s\\S]*?(?:\\\\\\][ \\t]*(?:\\n+|$)${open})`)
  return {
    name: 'math',
    level: 'block',
    start: (src) => {
      const at = src.search(/(?:^|\n) {0,3}(?:\$\$|\\\[)/)
      return at === -1 ? undefined : at
    },
    tokenizer: (src) => {
      const raw = (dollars.exec(src) ?? brackets.exec(src))?.[0]
      // `\[a\] and more` is part of a sentence.
      if (raw === undefined || /^ {0,3}\\\[[\s\S]*?\\\][ \t]*\S/.test(raw)) return undefined
      return { type: 'math', raw }
    },
  }
}

const complete = new Marked({ gfm: true, extensions: [displayMath(false)] })
const growing = new Marked({ gfm: true, extensions: [displayMath(true)] })

/** Cuts a complete text into its top-level blocks. They hold every character of it but blank lines between them. */
export function splitBlocks(text: string): readonly Block[] {
  return lex(complete, normalizeLines(text), 0)
}

function normalizeLines(text: string): string {
  return (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text).replace(tooDeep, '$1')
}

/** Quotations and lists twenty deep are nobody's meaning; each level is a level of recursion in all that follows. */
const tooDeep =
  /^((?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){20})(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t]))+/gm

function lex(marked: Marked, text: string, start: number): Block[] {
  // Blocks only: the inline tokens that `lexer` would make as well are the renderer's business.
  const lexer = new marked.Lexer(marked.defaults)
  const blocks: Block[] = []
  let at = start
  for (const token of lexer.blockTokens(text, [])) {
    if (token.type !== 'space') {
      const kind = token.type === 'code' || token.type === 'math' ? token.type : 'text'
      blocks.push({ start: at, source: token.raw, kind })
    }
    at += token.raw.length
  }
  return blocks
}

/**
 * Splits a text that grows at its end, looking only at what may still change. What follows can continue the last
 * block, or make it and the one before it a single block; anything earlier is settled, and keeps its identity.
 */
export class GrowingText {
  #text = ''
  #blocks: readonly Block[] = []

  /** The blocks of `text`; those settled before are the same objects as last time. */
  update(raw: string): readonly Block[] {
    const text = normalizeLines(raw)
    if (text === this.#text) return this.#blocks
    const settled = text.startsWith(this.#text) ? this.#blocks.slice(0, -2) : []
    const from = settled.length === 0 ? 0 : (this.#blocks[settled.length]?.start ?? 0)
    this.#blocks = [...settled, ...lex(growing, text.slice(from), from)]
    this.#text = text
    return this.#blocks
  }
}
