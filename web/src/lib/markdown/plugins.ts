import type { Element, ElementContent, Root, Text } from 'hast'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import type { Options } from 'react-markdown'
import remarkCjkFriendly from 'remark-cjk-friendly/parseOnly'
import remarkCjkStrikethrough from 'remark-cjk-friendly-gfm-strikethrough/parseOnly'
import type { Processor } from 'unified'
import { texts } from './texts'
import { citationForm } from './weak'

// A single tilde is a range in Japanese (10~20), not strikethrough.
const strike = { singleTilde: false }

interface ParserData {
  micromarkExtensions?: object[]
  fromMarkdownExtensions?: object[]
}

/** remarkGfm parses GitHub's Markdown. The library of this name can also write it, which takes 10 KB more. */
function remarkGfm(this: Processor): void {
  const data = this.data() as ParserData
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm(strike)]
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()]
}

/** The parser plugins for every output. Formulas are added to them. */
export const remarkPlugins: NonNullable<Options['remarkPlugins']> = [
  remarkGfm,
  remarkCjkFriendly,
  [remarkCjkStrikethrough, strike],
]

/** Nodes whose content is not rewritten: code, links, formulas. */
const closed = new Set(['code', 'pre', 'a', 'math', 'svg'])

/**
 * rehypeBreaks preserves line breaks. In Japanese a line break is never a space, and models break lines on purpose, as
 * in a letter.
 */
export function rehypeBreaks() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      children.flatMap((child) => (child.type === 'text' ? lines(child) : [child])),
    )
  }
}

function lines(text: Text): ElementContent[] {
  // Between blocks, a line break is only layout of the source.
  if (!text.value.includes('\n') || text.value.trim() === '') return [text]
  return text.value
    .split('\n')
    .flatMap((value, index): ElementContent[] => [
      ...(index > 0 ? [lineBreak()] : []),
      ...(value === '' ? [] : [{ type: 'text' as const, value }]),
    ])
}

function lineBreak(): Element {
  return { type: 'element', tagName: 'br', properties: {}, children: [] }
}

/** Turns a quotation that begins with `[!NOTE]` into a box with a heading, as on GitHub. */
export function rehypeAlerts() {
  return (tree: Root) => {
    eachParent(tree, (children) => {
      for (const child of children) if (child.type === 'element') markAlert(child)
      return children
    })
  }
}

function markAlert(quote: Element): void {
  if (quote.tagName !== 'blockquote') return
  const first = quote.children.find((child) => child.type === 'element')
  const words = first?.tagName === 'p' ? first.children[0] : undefined
  if (first === undefined || words?.type !== 'text') return
  const match = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/i.exec(words.value)
  if (match === null) return
  const kind = (match[1] ?? '').toLowerCase() as keyof typeof texts.alerts
  quote.properties = { dataAlert: kind }
  words.value = words.value.slice(match[0].length)
  const title: Element = {
    type: 'element',
    tagName: 'p',
    properties: {},
    children: [
      {
        type: 'element',
        tagName: 'strong',
        properties: {},
        children: [{ type: 'text', value: texts.alerts[kind] }],
      },
    ],
  }
  const rest = words.value === '' && first.children.length === 1
  quote.children = [title, ...quote.children.filter((child) => !(rest && child === first))]
}

/**
 * rehypeNotes numbers the footnotes. `[^id]` becomes a button that leads to its note. `[^id]:` becomes the number
 * before the note, which ends with a button that leads back.
 */
export function rehypeNotes(ids: readonly string[]) {
  return () => (tree: Root) => {
    if (ids.length === 0) return
    eachParent(tree, (children) =>
      withWaysBack(children.flatMap((child) => (child.type === 'text' ? notes(child, ids) : [child]))),
    )
  }
}

/** withWaysBack ends each note with a button that leads back to its reference. */
function withWaysBack(children: ElementContent[]): ElementContent[] {
  const out: ElementContent[] = []
  let open: Element | null = null
  const close = () => {
    if (open === null) return
    const breaks = out.splice(out.findLastIndex((child) => !isBreak(child)) + 1)
    const value = `${open.properties.value}↩`
    out.push({ type: 'element', tagName: 'button', properties: { value }, children: [] }, ...breaks)
  }
  for (const child of children) {
    if (child.type === 'element' && child.tagName === 'data') {
      close()
      open = child
    }
    out.push(child)
  }
  close()
  return out
}

function isBreak(child: ElementContent): boolean {
  return child.type === 'text'
    ? child.value.trim() === ''
    : child.type === 'element' && child.tagName === 'br'
}

function notes(text: Text, ids: readonly string[]): ElementContent[] {
  const out: ElementContent[] = []
  let last = 0
  for (const match of text.value.matchAll(/\[\^([^[\]\s]{1,50})\](:[ \t]*)?/g)) {
    const number = ids.indexOf(match[1] ?? '') + 1
    if (number === 0) continue
    if (match.index > last) out.push({ type: 'text', value: text.value.slice(last, match.index) })
    const tagName = match[2] === undefined ? 'button' : 'data'
    out.push({ type: 'element', tagName, properties: { value: `^${number}` }, children: [] })
    last = match.index + match[0].length
  }
  if (last === 0) return [text]
  if (last < text.value.length) out.push({ type: 'text', value: text.value.slice(last) })
  return out
}

/**
 * rehypeCitations turns `[3]`, which may be marked as unsupported, into a citation. The component that renders it
 * checks whether the source exists.
 */
export function rehypeCitations() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      children.flatMap((child) => (child.type === 'text' ? citations(child) : [child])),
    )
  }
}

function citations(text: Text): ElementContent[] {
  const out: ElementContent[] = []
  let last = 0
  for (const match of text.value.matchAll(citationForm)) {
    if (match.index > last) out.push({ type: 'text', value: text.value.slice(last, match.index) })
    const properties = { value: String(match[1]), dataWeak: match[2] !== undefined }
    out.push({ type: 'element', tagName: 'button', properties, children: [] })
    last = match.index + match[0].length
  }
  if (last === 0) return [text]
  if (last < text.value.length) out.push({ type: 'text', value: text.value.slice(last) })
  return out
}

function eachParent(node: Root | Element, change: (children: ElementContent[]) => ElementContent[]): void {
  node.children = change(node.children as ElementContent[])
  for (const child of node.children) {
    if (child.type === 'element' && !closed.has(child.tagName)) eachParent(child, change)
  }
}
