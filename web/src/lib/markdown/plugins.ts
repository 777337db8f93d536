import type { Element, ElementContent, Nodes, Root, Text } from 'hast'

/** Where nothing is rewritten: code, links, formulas. */
const closed = new Set(['code', 'pre', 'a', 'math', 'svg'])

/** Models write `<br>` where Markdown has no line break, in the cells of tables. It is the one tag that counts. */
export function rehypeBreaks() {
  return (tree: Root) => {
    eachParent(tree, (children) =>
      children.map((child) =>
        (child as Nodes).type === 'raw' && /^<br\s*\/?>$/i.test((child as unknown as { value: string }).value)
          ? ({ type: 'element', tagName: 'br', properties: {}, children: [] } satisfies Element)
          : child,
      ),
    )
  }
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
