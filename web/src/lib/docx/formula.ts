import katex from 'katex'
import { formulaLimits } from '@/lib/markdown/formulaLimits'
import { escapeXml } from './xml'

/**
 * toOmml converts a formula to Office Math, which Word can edit. It converts KaTeX's MathML, and returns null for an
 * invalid formula.
 */
export function toOmml(tex: string, displayMode: boolean): string | null {
  let html: string
  try {
    html = katex.renderToString(tex, { ...formulaLimits, displayMode, output: 'mathml' })
  } catch {
    return null
  }
  const xml = /<math[\s\S]*<\/math>/.exec(html)?.[0] ?? ''
  const root = new DOMParser().parseFromString(xml, 'application/xml').querySelector('semantics > *')
  return root ? `<m:oMath>${convert(root)}</m:oMath>` : null
}

/** The operators that Word draws together with the term that follows them. */
const largeOperators = /^[\u220f-\u2211\u222b-\u2233\u22c0-\u22c3\u2a00-\u2a06]$/
const scripts = new Set(['msub', 'msup', 'msubsup', 'munder', 'mover', 'munderover'])

/** sequence converts adjacent elements. A large operator includes the next element as its operand. */
function sequence(elements: readonly Element[]): string {
  let out = ''
  for (let at = 0; at < elements.length; at++) {
    const element = elements[at]
    const operand = elements[at + 1]
    if (element === undefined) continue
    if (operand && isLargeOperator(element)) {
      out += largeOperator(element, operand)
      at++
    } else {
      out += convert(element)
    }
  }
  return out
}

function isLargeOperator(element: Element): boolean {
  const base = scripts.has(element.localName) ? element.firstElementChild : element
  return largeOperators.test(textOf(base))
}

function largeOperator(element: Element, operand: Element): string {
  const name = element.localName
  const [base, first, second] = scripts.has(name) ? [...element.children] : [element]
  const above = /^m(?:sup|over)$/.test(name) ? first : second
  const below = above === first ? undefined : first
  const place = name.includes('under') || name.includes('over') ? 'undOvr' : 'subSup'
  const hidden = (what: string, one: Element | undefined) => (one ? '' : `<m:${what}Hide m:val="1"/>`)
  const properties = `<m:chr m:val="${textOf(base)}"/><m:limLoc m:val="${place}"/>${hidden('sub', below)}${hidden('sup', above)}`
  return `<m:nary><m:naryPr>${properties}</m:naryPr>${part('sub', below)}${part('sup', above)}${part('e', operand)}</m:nary>`
}

function convert(element: Element): string {
  const [base, first, second] = element.children
  switch (element.localName) {
    case 'mi':
    case 'mn':
    case 'mo':
    case 'mtext':
      return run(element)
    case 'mspace':
      return text(' ', '<m:nor/>')
    case 'mfrac': {
      const bar = /^0/.test(element.getAttribute('linethickness') ?? '') ? 'noBar' : 'bar'
      return `<m:f><m:fPr><m:type m:val="${bar}"/></m:fPr>${part('num', base)}${part('den', first)}</m:f>`
    }
    case 'msqrt':
      return `<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e>${sequence([...element.children])}</m:e></m:rad>`
    case 'mroot':
      return `<m:rad>${part('deg', first)}${part('e', base)}</m:rad>`
    case 'msub':
      return `<m:sSub>${part('e', base)}${part('sub', first)}</m:sSub>`
    case 'msup':
      return `<m:sSup>${part('e', base)}${part('sup', first)}</m:sSup>`
    case 'msubsup':
      return `<m:sSubSup>${part('e', base)}${part('sub', first)}${part('sup', second)}</m:sSubSup>`
    case 'mover':
      return above(base, first)
    case 'munder':
      return below(base, first)
    case 'munderover':
      return `<m:limUpp><m:e>${below(base, first)}</m:e>${part('lim', second)}</m:limUpp>`
    case 'mtable':
      return table(element)
    case 'annotation':
    case 'mphantom':
      return ''
    default:
      return group([...element.children])
  }
}

/** group converts the children of a row. Delimiters at both ends grow with their content. */
function group(children: readonly Element[]): string {
  const [open, close] = [children[0], children.at(-1)]
  if (children.length < 3 || !isFence(open) || !isFence(close)) return sequence(children)
  const marks = `<m:begChr m:val="${escapeXml(textOf(open))}"/><m:endChr m:val="${escapeXml(textOf(close))}"/>`
  return `<m:d><m:dPr>${marks}</m:dPr><m:e>${sequence(children.slice(1, -1))}</m:e></m:d>`
}

function isFence(element: Element | undefined): boolean {
  return element?.localName === 'mo' && element.getAttribute('fence') === 'true'
}

/** The combining forms of the accents that KaTeX writes as separate characters. */
const combining: Readonly<Record<string, string>> = {
  '^': '\u0302',
  '~': '\u0303',
  '˙': '\u0307',
  '¨': '\u0308',
  ˇ: '\u030c',
  '˘': '\u0306',
  '´': '\u0301',
  '`': '\u0300',
  '→': '\u20d7',
  '⃗': '\u20d7',
}

function above(base: Element | undefined, mark: Element | undefined): string {
  const char = textOf(mark)
  if (/^[‾ˉ¯]$/.test(char)) return `<m:bar><m:barPr><m:pos m:val="top"/></m:barPr>${part('e', base)}</m:bar>`
  if (char === '⏞') return brace(char, 'top', base)
  const accent = combining[char]
  return accent === undefined
    ? `<m:limUpp>${part('e', base)}${part('lim', mark)}</m:limUpp>`
    : `<m:acc><m:accPr><m:chr m:val="${accent}"/></m:accPr>${part('e', base)}</m:acc>`
}

function below(base: Element | undefined, mark: Element | undefined): string {
  const char = textOf(mark)
  if (/^[‾_]$/.test(char)) return `<m:bar><m:barPr><m:pos m:val="bot"/></m:barPr>${part('e', base)}</m:bar>`
  return char === '⏟'
    ? brace(char, 'bot', base)
    : `<m:limLow>${part('e', base)}${part('lim', mark)}</m:limLow>`
}

function brace(char: string, place: 'top' | 'bot', base: Element | undefined): string {
  return `<m:groupChr><m:groupChrPr><m:chr m:val="${char}"/><m:pos m:val="${place}"/></m:groupChrPr>${part('e', base)}</m:groupChr>`
}

function table(element: Element): string {
  const rows = [...element.children].map((row) =>
    [...row.children].filter((cell) => cell.localName === 'mtd'),
  )
  const columns = Math.max(1, ...rows.map((cells) => cells.length))
  const cells = (row: readonly Element[]) =>
    Array.from({ length: columns }, (_, at) => part('e', row[at])).join('')
  const properties = `<m:mPr><m:mcs><m:mc><m:mcPr><m:count m:val="${columns}"/><m:mcJc m:val="center"/></m:mcPr></m:mc></m:mcs></m:mPr>`
  return `<m:m>${properties}${rows.map((row) => `<m:mr>${cells(row)}</m:mr>`).join('')}</m:m>`
}

function part(name: string, element: Element | undefined): string {
  return `<m:${name}>${element ? sequence([element]) : ''}</m:${name}>`
}

/** The alphabets and weights of MathML's `mathvariant` in Office Math. */
const variants: Readonly<Record<string, string>> = {
  normal: '<m:sty m:val="p"/>',
  bold: '<m:sty m:val="b"/>',
  'bold-italic': '<m:sty m:val="bi"/>',
  'double-struck': '<m:scr m:val="double-struck"/><m:sty m:val="p"/>',
  script: '<m:scr m:val="script"/>',
  fraktur: '<m:scr m:val="fraktur"/>',
  'sans-serif': '<m:scr m:val="sans-serif"/><m:sty m:val="p"/>',
  monospace: '<m:scr m:val="monospace"/><m:sty m:val="p"/>',
}

function run(element: Element): string {
  const content = textOf(element)
  if (content === '') return ''
  if (element.localName === 'mtext') return text(content, '<m:nor/>')
  const upright = element.localName !== 'mi' || [...content].length > 1
  const variant = element.getAttribute('mathvariant') ?? (upright ? 'normal' : '')
  return text(content, variants[variant] ?? '')
}

function text(content: string, style: string): string {
  const font = '<w:rPr><w:rFonts w:ascii="Cambria Math" w:hAnsi="Cambria Math"/></w:rPr>'
  const properties = style && `<m:rPr>${style}</m:rPr>`
  return `<m:r>${properties}${font}<m:t xml:space="preserve">${escapeXml(content)}</m:t></m:r>`
}

/** textOf returns an element's text without invisible operators, such as the application of a function. */
function textOf(element: Element | null | undefined): string {
  return (element?.textContent ?? '').replace(/[\u2061-\u2064\u200b]/g, '')
}
