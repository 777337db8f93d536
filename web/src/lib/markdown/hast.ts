import type { Element, ElementContent, Properties, Root, Text } from 'hast'

export function element(
  tagName: string,
  children: ElementContent[] = [],
  properties: Properties = {},
): Element {
  return { type: 'element', tagName, properties, children }
}

export function text(value: string): Text {
  return { type: 'text', value }
}

/** Nodes whose content is not rewritten: code, links, formulas. */
const closed = new Set(['code', 'pre', 'a', 'math', 'svg'])

/** eachParent changes the children of every node, from the outside in. */
export function eachParent(
  node: Root | Element,
  change: (children: ElementContent[]) => ElementContent[],
): void {
  node.children = change(node.children as ElementContent[])
  for (const child of node.children) {
    if (child.type === 'element' && !closed.has(child.tagName)) eachParent(child, change)
  }
}

/** replaceTexts replaces each text by the nodes that `change` returns. */
export function replaceTexts(
  children: readonly ElementContent[],
  change: (text: Text) => ElementContent[],
): ElementContent[] {
  return children.flatMap((child) => (child.type === 'text' ? change(child) : [child]))
}

/** replaceMatches replaces the matches of a pattern in a text by the results of `make`. Null keeps a match as text. */
export function replaceMatches(
  node: Text,
  pattern: RegExp,
  make: (match: RegExpExecArray) => Element | null,
): ElementContent[] {
  const out: ElementContent[] = []
  let last = 0
  for (const match of node.value.matchAll(pattern)) {
    const made = make(match)
    if (made === null) continue
    if (match.index > last) out.push(text(node.value.slice(last, match.index)))
    out.push(made)
    last = match.index + match[0].length
  }
  if (last === 0) return [node]
  if (last < node.value.length) out.push(text(node.value.slice(last)))
  return out
}
