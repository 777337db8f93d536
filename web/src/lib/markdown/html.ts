import type { Element, Nodes } from 'hast'
import { cellText, isFormula } from './grid'
import { safeUrl } from './safeUrl'
import { texts } from './texts'
import { isFormulaCode, treesOf } from './trees'

/**
 * toHtml converts a Markdown text to HTML for Word, Outlook and Excel: semantic elements without classes, formulas as
 * typed.
 */
export async function toHtml(text: string): Promise<string> {
  return (await treesOf(text)).map(({ tree }) => write(tree)).join('\n')
}

/** A table as HTML. */
export function tableHtml(table: Element): string {
  return write(table)
}

const kept = new Set(
  (
    'h1 h2 h3 h4 h5 h6 p ul ol li blockquote hr strong em del br table thead tbody tr th td ' +
    'code pre a sub sup u kbd mark ruby rt details summary'
  ).split(' '),
)
const empty = new Set(['br', 'hr'])

function write(node: Nodes): string {
  if (node.type === 'text' || node.type === 'raw') return escaped(node.value)
  if (node.type === 'root') return node.children.map(write).join('')
  if (node.type !== 'element') return ''
  const { tagName } = node
  if (tagName === 'input') return node.properties.checked ? '☑ ' : '☐ '
  if (tagName === 'img') return link(node.properties.src, escaped(String(node.properties.alt || texts.image)))
  const inner = guard(node) + node.children.map(write).join('')
  if (tagName === 'a') return link(node.properties.href, inner)
  if (isFormulaCode(node)) return tagName === 'pre' ? `<p>${inner.trim()}</p>` : inner
  if (!kept.has(tagName)) return inner
  return empty.has(tagName) ? `<${tagName}>` : `<${tagName}${attributes(node)}>${inner}</${tagName}>`
}

/** guard prepends an apostrophe to a cell that begins with =, because Excel would evaluate it. */
function guard(node: Element): string {
  return /^t[hd]$/.test(node.tagName) && isFormula(cellText(node)) ? "'" : ''
}

function link(url: unknown, inner: string): string {
  const safe = safeUrl(String(url ?? ''))
  return safe === '' ? inner : `<a href="${escaped(safe)}">${inner}</a>`
}

// Attributes only: browsers parse copied HTML under the page's content security policy, which removes styles.
function attributes({ tagName, properties }: Element): string {
  if (tagName === 'table') return ' border="1" cellspacing="0" cellpadding="4"'
  if (tagName === 'ol' && typeof properties.start === 'number') return ` start="${properties.start}"`
  if (tagName !== 'th' && tagName !== 'td') return ''
  const align = /^(?:left|center|right)$/.exec(String(properties.align ?? ''))?.[0]
  return align ? ` align="${align}"` : ''
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
