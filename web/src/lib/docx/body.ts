import type { Element, ElementContent, Nodes } from 'hast'
import { cellText } from '@/lib/markdown/grid'
import { rehypeNotes } from '@/lib/markdown/plugins'
import { texts } from '@/lib/markdown/texts'
import { type BlockTree, isFormulaCode } from '@/lib/markdown/trees'
import { toOmml } from './formula'
import { indentStep, textWidth } from './styles'
import { escapeXml } from './xml'

/** The place of a block: its style, and its depth in lists and quotations. */
interface Place {
  readonly style: string
  readonly indent: number
  /** The numbering of the next paragraph, with the depth of its list. */
  readonly numbering?: { readonly id: number; readonly level: number } | undefined
  /** The alignment of a table's cell. */
  readonly align?: string | undefined
}

/** The formats of a run, in the order that the schema demands. */
const formats = ['link', 'code', 'bold', 'italic', 'strike', 'mark', 'underline', 'sup', 'sub'] as const
type Format = (typeof formats)[number]

/** The formats' elements. */
const runProperties: Readonly<Record<Format, string>> = {
  link: '<w:rStyle w:val="Hyperlink"/>',
  code: '<w:rStyle w:val="InlineCode"/>',
  bold: '<w:b/>',
  italic: '<w:i/>',
  strike: '<w:strike/>',
  mark: '<w:highlight w:val="yellow"/>',
  underline: '<w:u w:val="single"/>',
  sup: '<w:vertAlign w:val="superscript"/>',
  sub: '<w:vertAlign w:val="subscript"/>',
}

const formatOf: Readonly<Record<string, Format>> = {
  strong: 'bold',
  em: 'italic',
  del: 'strike',
  code: 'code',
  kbd: 'code',
  mark: 'mark',
  u: 'underline',
  sup: 'sup',
  sub: 'sub',
}

const bullets = 1
const deepest = 8
const blocks = /^(?:p|h[1-6]|ul|ol|li|blockquote|pre|table|hr|details|summary)$/
const normal: Place = { style: 'Normal', indent: 0 }

/** Body collects the paragraphs of a document, and the links and lists in them. */
export class Body {
  /** The addresses of the links: that of `rId1` is the first. */
  readonly links: string[] = []
  /** The ordered lists: their levels and first numbers. */
  readonly #lists: { readonly level: number; readonly start: number }[] = []
  #xml = ''
  /** The Markdown depths of the headings above, outermost first. */
  #headings: readonly number[] = []
  #firstLevel = 1

  /** Adds a heading. */
  heading(text: string, level: number): void {
    this.#paragraph({ style: `Heading${Math.min(6, level)}`, indent: 0 }, run(text, []))
  }

  /** Adds a paragraph of plain text. A web address at its end is a link. */
  plain(style: string, text: string): void {
    const url = /https?:\/\/\S+$/.exec(text)?.[0] ?? ''
    const before = run(text.slice(0, text.length - url.length), [])
    this.#paragraph({ style, indent: 0 }, before + this.#link(url, run(url, linked)))
  }

  /** Adds a Markdown text. Each heading has the level below its parent heading; the first ones have `level`. */
  markdown(trees: readonly BlockTree[], level: number): void {
    this.#headings = []
    this.#firstLevel = level
    for (const { tree, notes } of trees) {
      rehypeNotes(notes)()(tree)
      this.#flow(tree.children as ElementContent[], normal)
    }
  }

  documentXml(): string {
    const schema = 'http://schemas.openxmlformats.org'
    const section =
      '<w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1418" w:right="1418" w:bottom="1418" w:left="1418" w:header="851" w:footer="851" w:gutter="0"/>'
    return `<w:document xmlns:w="${schema}/wordprocessingml/2006/main" xmlns:m="${schema}/officeDocument/2006/math" xmlns:r="${schema}/officeDocument/2006/relationships"><w:body>${this.#xml}<w:sectPr>${section}</w:sectPr></w:body></w:document>`
  }

  numberingXml(): string {
    const levels = (level: (at: number) => string) =>
      Array.from({ length: deepest + 1 }, (_, at) => {
        const left = indentStep * (at + 1)
        return `<w:lvl w:ilvl="${at}"><w:start w:val="1"/>${level(at)}<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="${left}" w:hanging="${indentStep}"/></w:pPr></w:lvl>`
      }).join('')
    const bullet = levels((at) => `<w:numFmt w:val="bullet"/><w:lvlText w:val="${'•◦▪'[at % 3]}"/>`)
    const decimal = levels((at) => `<w:numFmt w:val="decimal"/><w:lvlText w:val="%${at + 1}."/>`)
    const abstract = [bullet, decimal].map(
      (content, id) =>
        `<w:abstractNum w:abstractNumId="${id}"><w:multiLevelType w:val="hybridMultilevel"/>${content}</w:abstractNum>`,
    )
    const ordered = this.#lists.map(
      ({ level, start }, index) =>
        `<w:num w:numId="${bullets + 1 + index}"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="${level}"><w:startOverride w:val="${start}"/></w:lvlOverride></w:num>`,
    )
    return `<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">${abstract.join('')}<w:num w:numId="${bullets}"><w:abstractNumId w:val="0"/></w:num>${ordered.join('')}</w:numbering>`
  }

  /** Writes blocks, and the inline content between them as paragraphs. */
  #flow(children: readonly ElementContent[], from: Place): void {
    let place = from
    let inline: ElementContent[] = []
    const close = () => {
      // A line break before a block is only layout of the source.
      const end = inline.findLastIndex((child) => !isElement(child, 'br') && cellText(child) !== '\n') + 1
      if (end > 0) {
        this.#paragraph(place, this.#inline(inline.slice(0, end), []))
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
    if (tagName === 'p') this.#paragraph(place, this.#inline(children, []))
    else if (tagName === 'summary') this.#paragraph(place, this.#inline(children, ['bold']))
    else if (tagName === 'pre') this.#pre(element, place)
    else if (tagName === 'ul' || tagName === 'ol') this.#list(element, place)
    else if (tagName === 'table') this.#table(element, place)
    else if (tagName === 'hr') this.#paragraph({ style: 'Rule', indent: place.indent }, '')
    else if (tagName === 'blockquote')
      this.#flow(children, { style: 'Quote', indent: place.indent + (place.style === 'Quote' ? 1 : 0) })
    else if (tagName.startsWith('h')) this.#headingOf(element, Number(tagName[1]))
    else this.#flow(children, place)
  }

  #headingOf({ children }: Element, depth: number): void {
    this.#headings = [...this.#headings.filter((other) => other < depth), depth]
    const level = Math.min(6, this.#firstLevel + this.#headings.length - 1)
    this.#paragraph({ style: `Heading${level}`, indent: 0 }, this.#inline(children, []))
  }

  #list({ tagName, children, properties }: Element, place: Place): void {
    const level = Math.min(deepest, place.indent)
    let id = bullets
    if (tagName === 'ol') {
      const start = typeof properties.start === 'number' ? properties.start : 1
      id = bullets + this.#lists.push({ level, start })
    }
    const style = tagName === 'ol' ? 'ListNumber' : 'ListBullet'
    for (const item of children) {
      if (!isElement(item, 'li')) continue
      // A task has a check box in the place of a bullet.
      const numbering = startsWithTask(item) ? undefined : { id, level }
      this.#flow(item.children, { style: numbering ? style : 'ListContinue', indent: level + 1, numbering })
    }
  }

  #pre(element: Element, place: Place): void {
    const tex = cellText(element)
    const formula = isFormulaCode(element) ? toOmml(tex, true) : null
    if (formula !== null) this.#paragraph(place, `<m:oMathPara>${formula}</m:oMathPara>`)
    else this.#paragraph({ style: 'Code', indent: place.indent }, run(tex.replace(/\n$/, ''), []))
  }

  #table(table: Element, place: Place): void {
    const rows = rowsOf(table)
    const widths = columnWidths(rows, textWidth - place.indent * indentStep)
    const grid = widths.map((width) => `<w:gridCol w:w="${width}"/>`).join('')
    const indent = place.indent && `<w:tblInd w:w="${place.indent * indentStep}" w:type="dxa"/>`
    this.#xml += `<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/><w:tblW w:w="0" w:type="auto"/>${indent || ''}<w:tblLook w:val="0020" w:firstRow="1" w:lastRow="0" w:firstColumn="0" w:lastColumn="0" w:noHBand="1" w:noVBand="1"/></w:tblPr><w:tblGrid>${grid}</w:tblGrid>`
    rows.forEach((cells, index) => {
      this.#xml += `<w:tr><w:trPr><w:cantSplit/>${index === 0 ? '<w:tblHeader/>' : ''}</w:trPr>`
      for (const [at, width] of widths.entries()) {
        const cell = cells[at]
        const align = /^(?:center|right)$/.exec(String(cell?.properties.align ?? ''))?.[0]
        this.#xml += `<w:tc><w:tcPr><w:tcW w:w="${width}" w:type="dxa"/></w:tcPr>`
        this.#paragraph(
          { style: 'TableText', indent: 0, align },
          this.#inline(cell?.children ?? [], index === 0 ? ['bold'] : []),
        )
        this.#xml += '</w:tc>'
      }
      this.#xml += '</w:tr>'
    })
    // Without a paragraph between them, two tables would be one.
    this.#xml += '</w:tbl><w:p><w:pPr><w:spacing w:after="0" w:line="160" w:lineRule="exact"/></w:pPr></w:p>'
  }

  #paragraph({ style, indent, numbering, align }: Place, content: string): void {
    const list = numbering
      ? `<w:numPr><w:ilvl w:val="${numbering.level}"/><w:numId w:val="${numbering.id}"/></w:numPr>`
      : ''
    const left = (indent + (style === 'Quote' ? 1 : 0)) * indentStep
    const place = indent > 0 && !numbering ? `<w:ind w:left="${left}"/>` : ''
    const justified = align ? `<w:jc w:val="${align}"/>` : ''
    this.#xml += `<w:p><w:pPr><w:pStyle w:val="${style}"/>${list}${place}${justified}</w:pPr>${content}</w:p>`
  }

  #inline(nodes: readonly Nodes[], has: readonly Format[]): string {
    return nodes.map((node) => this.#inlineNode(node, has)).join('')
  }

  #inlineNode(node: Nodes, has: readonly Format[]): string {
    if (node.type === 'text' || node.type === 'raw') return run(node.value, has)
    if (node.type !== 'element') return ''
    const { tagName, properties, children } = node
    if (tagName === 'br') return '<w:r><w:br/></w:r>'
    if (tagName === 'input') return run(properties.checked ? '☑' : '☐', has)
    if (tagName === 'rt') return run(`（${cellText(node)}）`, has)
    if (tagName === 'button' || tagName === 'data') return noteMark(String(properties.value))
    if (tagName === 'img')
      return this.#link(properties.src, run(String(properties.alt || texts.image), linked))
    if (tagName === 'a') return this.#link(properties.href, this.#inline(children, [...has, 'link']))
    const formula = isFormulaCode(node) ? toOmml(cellText(node), false) : null
    if (formula !== null) return formula
    const format = tagName === 'em' && isJapanese(cellText(node)) ? 'bold' : formatOf[tagName]
    return this.#inline(children, format ? [...has, format] : has)
  }

  #link(href: unknown, content: string): string {
    // Word does not open a document with an invalid address.
    const address = String(href ?? '')
    if (!URL.canParse(address)) return content
    const url = new URL(address).href
    const found = this.links.indexOf(url)
    const id = found === -1 ? this.links.push(url) : found + 1
    return `<w:hyperlink r:id="rId${id}">${content}</w:hyperlink>`
  }
}

const linked: readonly Format[] = ['link']

function isElement(node: Nodes, name: string): node is Element {
  return node.type === 'element' && node.tagName === name
}

/** continued returns the place of the next paragraph in the same item of a list. */
function continued(place: Place): Place {
  return place.numbering ? { style: 'ListContinue', indent: place.indent } : place
}

function startsWithTask({ children }: Element): boolean {
  const first = children.find((child) => child.type === 'element')
  return (
    first !== undefined && (isElement(first, 'input') || (isElement(first, 'p') && startsWithTask(first)))
  )
}

/** noteMark returns the number of a footnote. A document needs no way back from its notes. */
function noteMark(value: string): string {
  return value.endsWith('↩') ? '' : run(value.replace('^', ''), ['sup'])
}

function rowsOf(parent: Element): Element[][] {
  return parent.children.flatMap((child) => {
    if (child.type !== 'element') return []
    if (child.tagName !== 'tr') return rowsOf(child)
    return [child.children.filter((cell): cell is Element => cell.type === 'element')]
  })
}

/** columnWidths divides a width by the longest texts of the columns, within bounds. */
function columnWidths(rows: readonly Element[][], width: number): readonly number[] {
  const columns = Math.max(1, ...rows.map((cells) => cells.length))
  const lengths = Array.from({ length: columns }, (_, at) =>
    Math.min(30, Math.max(4, ...rows.map((cells) => (cells[at] ? cellText(cells[at]).length : 0)))),
  )
  const sum = lengths.reduce((total, length) => total + length, 0)
  return lengths.map((length) => Math.floor((width * length) / sum))
}

/** isJapanese reports whether a text has Japanese characters, which have no italics. */
function isJapanese(text: string): boolean {
  return /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u.test(text)
}

function run(text: string, has: readonly Format[]): string {
  // A run has one style, and that of a link shows where to click.
  const shown = formats.filter(
    (format) => has.includes(format) && !(format === 'code' && has.includes('link')),
  )
  const properties = shown.map((format) => runProperties[format]).join('')
  const format = properties && `<w:rPr>${properties}</w:rPr>`
  return text
    .split(/(\n|\t)/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      if (piece === '\n') return '<w:r><w:br/></w:r>'
      const content = piece === '\t' ? '<w:tab/>' : `<w:t xml:space="preserve">${escapeXml(piece)}</w:t>`
      return `<w:r>${format}${content}</w:r>`
    })
    .join('')
}
