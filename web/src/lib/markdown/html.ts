import type { Element, Nodes, Root } from 'hast'
import ReactMarkdown from 'react-markdown'
import { cellText, isFormula } from './grid'
import { rehypeAlerts, rehypeBreaks, remarkPlugins } from './plugins'
import { prepare } from './prepare'
import { referencesOf } from './references'
import { safeUrl } from './safeUrl'
import { splitBlocks } from './split'
import { rehypeTags } from './tags'
import { texts } from './texts'

/**
 * toHtml converts a Markdown text to HTML for Word, Outlook and Excel: semantic elements without classes, formulas as
 * typed. It uses the same steps as the renderer.
 */
export async function toHtml(text: string): Promise<string> {
  const split = splitBlocks(text)
  const references = referencesOf(split)
  const blocks = split.map(prepare)
  // It includes KaTeX, so it is loaded only for a text with formulas.
  const plugins = blocks.some(({ math }) => math)
    ? [...remarkPlugins, (await import('remark-math')).default]
    : remarkPlugins
  return blocks
    .map(({ markdown }, index) => blockHtml(`${references[index]?.definitions}\n\n${markdown}`, plugins))
    .join('\n')
}

/** A table as HTML. */
export function tableHtml(table: Element): string {
  return write(table)
}

function blockHtml(markdown: string, plugins: typeof remarkPlugins): string {
  let tree: Root = { type: 'root', children: [] }
  const keep = () => (root: Root) => {
    tree = root
  }
  // A pure function of its options; only its tree is used here.
  ReactMarkdown({
    children: markdown,
    remarkPlugins: plugins,
    rehypePlugins: [rehypeTags(false), rehypeAlerts, rehypeBreaks, keep],
    urlTransform: safeUrl,
  })
  return write(tree)
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
  if (isMath(node)) return tagName === 'pre' ? `<p>${inner.trim()}</p>` : inner
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

/** Formulas are code elements with their own classes: `code.math-inline`, and `pre > code.math-display`. */
function isMath(node: Element): boolean {
  const first = node.tagName === 'pre' ? node.children[0] : node
  if (first?.type !== 'element' || first.tagName !== 'code') return false
  const names = first.properties.className
  return Array.isArray(names) && names.some((name) => /^math-(?:inline|display)$/.test(String(name)))
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
