import * as word from 'docx'
import type { Element, ElementContent, Nodes } from 'hast'
import { cellText, elementsNamed } from '@/lib/markdown/grid'
import { rehypeNotes } from '@/lib/markdown/plugins'
import { texts } from '@/lib/markdown/texts'
import { type BlockTree, isFormulaCode } from '@/lib/markdown/trees'
import type { toMath } from './formula'
import { indentStep, textWidth } from './styles'

/** The place of a block: its style, and its depth in lists and quotations. */
interface Place {
  readonly style: string
  readonly indent: number
  /** The list that the next paragraph is an item of. */
  readonly list?: Pick<word.IParagraphOptions, 'numbering'>
}

type Format = word.IRunPropertiesOptions

const formatOf: Readonly<Record<string, Format>> = {
  strong: { bold: true },
  em: { italics: true },
  del: { strike: true },
  code: { style: 'InlineCode' },
  kbd: { style: 'InlineCode' },
  mark: { highlight: 'yellow' },
  u: { underline: {} },
  sup: { superScript: true },
  sub: { subScript: true },
}

/** Japanese characters have no italics. */
const japanese = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u
const linked: Format = { style: 'Hyperlink' }
const blocks = /^(?:p|h[1-6]|ul|ol|li|blockquote|pre|table|hr|details|summary)$/
const deepest = 8
const bullets = { reference: 'bullets', levels: levels('bullet', (level) => '•◦▪'.charAt(level % 3)) }

function numbers(start: number) {
  return { reference: `from ${start}`, levels: levels('decimal', (level) => `%${level + 1}.`, start) }
}

function levels(format: 'bullet' | 'decimal', text: (level: number) => string, start = 1) {
  return Array.from({ length: deepest + 1 }, (_, level) => {
    const style = { paragraph: { indent: { left: indentStep * (level + 1), hanging: indentStep } } }
    return { level, format, start, text: text(level), alignment: 'left', style } as const
  })
}

/** Body collects the blocks of a document. */
export class Body {
  readonly blocks: word.FileChild[] = []
  #orderedLists = 0
  /** The Markdown depths of the headings above, outermost first. */
  #headings: readonly number[] = []
  #firstLevel = 1
  #toMath: typeof toMath = () => null

  /** Adds a paragraph of plain text. A web address at its end is a link. */
  plain(style: string, text: string): void {
    const url = /https?:\/\/\S+$/.exec(text)?.[0] ?? ''
    const before = run(text.slice(0, text.length - url.length))
    this.#paragraph({ style, indent: 0 }, [...before, ...link(url, run(url, linked))])
  }

  /** Adds a Markdown text. Each heading has the level below its parent heading; the first ones have `level`. */
  markdown(trees: readonly BlockTree[], level: number, math: typeof toMath): void {
    this.#headings = []
    this.#firstLevel = level
    this.#toMath = math
    for (const { tree, notes } of trees) {
      rehypeNotes(notes)()(tree)
      this.#flow(tree.children as ElementContent[], { style: 'Normal', indent: 0 })
    }
  }

  #paragraph({ style, indent, list }: Place, children: readonly word.ParagraphChild[]): word.Paragraph {
    const left = (indent + (style === 'Quote' ? 1 : 0)) * indentStep
    const place = list ?? (indent > 0 && { indent: { left } })
    const paragraph = new word.Paragraph({ style, ...place, children })
    this.blocks.push(paragraph)
    return paragraph
  }

  /** Adds blocks, and the inline content between them as paragraphs. */
  #flow(children: readonly ElementContent[], from: Place): void {
    let place = from
    let inline: ElementContent[] = []
    const close = () => {
      // A line break before a block is only layout of the source.
      const end = inline.findLastIndex((child) => !isElement(child, 'br') && cellText(child) !== '\n') + 1
      if (end > 0) {
        this.#paragraph(place, this.#inline(inline.slice(0, end)))
        place = continued(place)
      }
      inline = []
    }
    for (const child of children) {
      if (child.type === 'element' && blocks.test(child.tagName)) {
        close()
        this.#block(child, place)
        if (child.tagName === 'p') place = continued(place)
      } else {
        inline.push(child)
      }
    }
    close()
  }

  #block(element: Element, place: Place): void {
    const { tagName, children } = element
    if (tagName === 'p') this.#paragraph(place, this.#inline(children))
    else if (tagName === 'summary') this.#paragraph(place, this.#inline(children, { bold: true }))
    else if (tagName === 'pre') this.#pre(element, place)
    else if (tagName === 'ul' || tagName === 'ol') this.#list(element, place)
    else if (tagName === 'table') this.#table(element, place)
    else if (tagName === 'hr') this.#paragraph({ style: 'Rule', indent: place.indent }, [])
    else if (tagName === 'blockquote')
      this.#flow(children, { style: 'Quote', indent: place.indent + (place.style === 'Quote' ? 1 : 0) })
    else if (tagName.startsWith('h')) this.#headingOf(element, Number(tagName[1]))
    else this.#flow(children, place)
  }

  #headingOf({ children }: Element, depth: number): void {
    this.#headings = [...this.#headings.filter((other) => other < depth), depth]
    const level = Math.min(6, this.#firstLevel + this.#headings.length - 1)
    this.#paragraph({ style: `Heading${level}`, indent: 0 }, this.#inline(children))
  }

  #list({ tagName, children, properties }: Element, place: Place): void {
    const level = Math.min(deepest, place.indent)
    const ordered = tagName === 'ol'
    const reference = ordered ? numbers(typeof properties.start === 'number' ? properties.start : 1) : bullets
    const list = { numbering: { reference, level, instance: ordered ? ++this.#orderedLists : 0 } }
    const item = { style: ordered ? 'ListNumber' : 'ListBullet', list, indent: level + 1 }
    for (const child of children) {
      // A task has a check box in the place of a bullet.
      if (isElement(child, 'li')) this.#flow(child.children, startsWithTask(child) ? continued(item) : item)
    }
  }

  #pre(element: Element, place: Place): void {
    const tex = cellText(element)
    const formula = isFormulaCode(element) && this.#toMath(tex, true)
    const math = formula && new word.BuilderElement({ name: 'm:oMathPara', children: [formula] })
    if (math) this.#paragraph(place, []).addChildElement(math)
    else this.#paragraph({ style: 'Code', indent: place.indent }, run(tex.replace(/\n$/, '')))
  }

  #table(table: Element, place: Place): void {
    const rows = elementsNamed(table, /^tr$/).map((row) => elementsNamed(row, /^t[hd]$/))
    const indent = place.indent * indentStep
    const columnWidths = widthsOf(rows, textWidth - indent)
    const cell = (element: Element | undefined, format: Format) => {
      const align = element?.properties.align
      const alignment = align === 'center' || align === 'right' ? align : 'left'
      const children = this.#inline(element?.children ?? [], format)
      const paragraph = new word.Paragraph({ style: 'TableText', alignment, children })
      return new word.TableCell({ children: [paragraph] })
    }
    this.blocks.push(
      new word.Table({
        style: 'TableGrid',
        width: { size: 0, type: 'auto' },
        ...(indent > 0 && { indent: { size: indent, type: 'dxa' } }),
        tableLook: { firstRow: true, noHBand: true, noVBand: true },
        columnWidths,
        rows: rows.map((cells, index) => {
          const children = columnWidths.map((_, at) => cell(cells[at], index === 0 ? { bold: true } : {}))
          return new word.TableRow({ cantSplit: true, ...(index === 0 && { tableHeader: true }), children })
        }),
      }),
      // Without a paragraph between them, two tables would be one.
      new word.Paragraph({ spacing: { after: 0, line: 160, lineRule: 'exact' } }),
    )
  }

  #inline(nodes: readonly Nodes[], has: Format = {}): word.ParagraphChild[] {
    return nodes.flatMap((node) => this.#inlineNode(node, has))
  }

  #inlineNode(node: Nodes, has: Format): word.ParagraphChild[] {
    if (node.type === 'text' || node.type === 'raw') return run(node.value, has)
    if (node.type !== 'element') return []
    const { tagName, properties, children } = node
    if (tagName === 'br') return run('\n')
    if (tagName === 'input') return run(properties.checked ? '☑' : '☐', has)
    if (tagName === 'rt') return run(`（${cellText(node)}）`, has)
    if (tagName === 'button' || tagName === 'data') {
      // The number of a footnote. A document needs no way back from its notes.
      const value = String(properties.value)
      return value.endsWith('↩') ? [] : run(value.replace('^', ''), { superScript: true })
    }
    if (tagName === 'img') return link(properties.src, run(String(properties.alt || texts.image), linked))
    if (tagName === 'a') return link(properties.href, this.#inline(children, { ...has, ...linked }))
    const formula = isFormulaCode(node) && this.#toMath(cellText(node), false)
    if (formula) return [formula]
    const format = formatOf[tagName === 'em' && japanese.test(cellText(node)) ? 'strong' : tagName]
    // A run has one style, and that of a link shows where to click.
    return this.#inline(children, { ...format, ...has })
  }
}

function link(href: unknown, children: word.ParagraphChild[]): word.ParagraphChild[] {
  // Word does not open a document with an invalid address.
  const address = String(href ?? '')
  if (!URL.canParse(address)) return children
  return [new word.ExternalHyperlink({ link: new URL(address).href, children })]
}

function isElement(node: Nodes, name: string): node is Element {
  return node.type === 'element' && node.tagName === name
}

/** continued returns the place of the next paragraph in the same item of a list. */
function continued(place: Place): Place {
  return place.list ? { style: 'ListContinue', indent: place.indent } : place
}

function startsWithTask({ children }: Element): boolean {
  const first = children.find((child) => child.type === 'element')
  return first?.tagName === 'input' || (first?.tagName === 'p' && startsWithTask(first))
}

/** widthsOf divides a width by the longest texts of the columns, within bounds. */
function widthsOf(rows: readonly Element[][], width: number): readonly number[] {
  const lengths: number[] = []
  for (const [at, cell] of rows.flatMap((row) => [...row.entries()])) {
    lengths[at] = Math.min(30, Math.max(4, lengths[at] ?? 0, cellText(cell).length))
  }
  const sum = lengths.reduce((total, length) => total + length, 0)
  return lengths.map((length) => Math.floor((width * length) / sum))
}

/** printable removes the characters that XML forbids and the library does not remove. */
export function printable(text: string): string {
  return text.replace(/[\ufffe\uffff]|\p{Surrogate}/gu, '')
}

function run(text: string, has: Format = {}): word.TextRun[] {
  // The library replaces {name-1} in the whole document if a list has this name, so no run has all of it.
  const pieces = printable(text).split(/([\n\t])|(?<=\{)(?=[^{}]*\})/)
  return pieces.filter(Boolean).map((piece) => {
    if (piece === '\n') return new word.TextRun({ break: 1 })
    return new word.TextRun({
      ...has,
      ...(piece === '\t' ? { children: [new word.Tab()] } : { text: piece }),
    })
  })
}
