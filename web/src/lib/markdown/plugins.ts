import type { Element, ElementContent, Root } from 'hast'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import type { Options } from 'react-markdown'
import remarkCjkFriendly from 'remark-cjk-friendly/parseOnly'
import remarkCjkStrikethrough from 'remark-cjk-friendly-gfm-strikethrough/parseOnly'
import type { Processor } from 'unified'
import { eachParent, element, replaceMatches, replaceTexts, text } from './hast'
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

/**
 * rehypeBreaks preserves line breaks. In Japanese a line break is never a space, and models break lines on purpose, as
 * in a letter.
 */
export function rehypeBreaks() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      replaceTexts(children, (node) =>
        // Between blocks, a line break is only layout of the source.
        node.value.trim() === '' ? [node] : replaceMatches(node, /\n/g, () => element('br')),
      ),
    )
  }
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
  const title = element('p', [element('strong', [text(texts.alerts[kind])])])
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
      withWaysBack(
        replaceTexts(children, (node) =>
          replaceMatches(node, /\[\^([^[\]\s]{1,50})\](:[ \t]*)?/g, ([, id = '', colon]) => {
            const number = ids.indexOf(id) + 1
            return number === 0 ? null : element(colon ? 'data' : 'button', [], { value: `^${number}` })
          }),
        ),
      ),
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
    out.push(element('button', [], { value }), ...breaks)
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

/**
 * rehypeCitations turns `[3]`, which may be marked as unsupported, into a citation. The component that renders it
 * checks whether the source exists.
 */
export function rehypeCitations() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      replaceTexts(children, (node) =>
        replaceMatches(node, citationForm, ([, value = '', mark]) =>
          element('button', [], { value, dataWeak: mark !== undefined }),
        ),
      ),
    )
  }
}
