import type { Element, ElementContent, Nodes, Root, Text } from 'hast'
import type { Options } from 'react-markdown'
import remarkCjkFriendly from 'remark-cjk-friendly/parseOnly'
import remarkCjkStrikethrough from 'remark-cjk-friendly-gfm-strikethrough/parseOnly'
import remarkGfm from 'remark-gfm'

// One tilde is a range in Japanese (10~20), not a strike.
const strike = { singleTilde: false }

/** How Markdown is read, wherever it is rendered to; formulas come on top. */
export const remarkPlugins: NonNullable<Options['remarkPlugins']> = [
  [remarkGfm, strike],
  remarkCjkFriendly,
  [remarkCjkStrikethrough, strike],
]

/** Where nothing is rewritten: code, links, formulas. */
const closed = new Set(['code', 'pre', 'a', 'math', 'svg'])

/**
 * Keeps lines as they were broken: in Japanese a line break is never a space, and models break lines where they mean
 * it (the lines of a letter). `<br>`, which they write in the cells of tables, is the one tag that counts.
 */
export function rehypeBreaks() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      children.flatMap((child) => (child.type === 'text' ? lines(child) : [unbroken(child)])),
    )
  }
}

function lines(text: Text): ElementContent[] {
  // Between blocks a line break is only layout of the source.
  if (!text.value.includes('\n') || text.value.trim() === '') return [text]
  return text.value
    .split('\n')
    .flatMap((value, index): ElementContent[] => [
      ...(index > 0 ? [lineBreak()] : []),
      ...(value === '' ? [] : [{ type: 'text' as const, value }]),
    ])
}

function unbroken(child: ElementContent): ElementContent {
  const raw = child as Nodes
  return raw.type === 'raw' && /^<br\s*\/?>$/i.test(raw.value) ? lineBreak() : child
}

function lineBreak(): Element {
  return { type: 'element', tagName: 'br', properties: {}, children: [] }
}

/** Turns `[3]` into a reference where there is a source of that number. */
export function rehypeCitations(indices: ReadonlySet<number>) {
  return () => (tree: Root) => {
    if (indices.size === 0) return
    eachParent(tree, (children) =>
      children.flatMap((child) => (child.type === 'text' ? citations(child, indices) : [child])),
    )
  }
}

function citations(text: Text, indices: ReadonlySet<number>): ElementContent[] {
  const out: ElementContent[] = []
  let last = 0
  for (const match of text.value.matchAll(/\[(\d{1,3})\]/g)) {
    const index = Number(match[1])
    if (!indices.has(index)) continue
    if (match.index > last) out.push({ type: 'text', value: text.value.slice(last, match.index) })
    out.push({ type: 'element', tagName: 'button', properties: { value: String(index) }, children: [] })
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
