import type { Element, ElementContent, Nodes, Root } from 'hast'
import { element, text } from './hast'

/** The supported HTML tags; all others are text. */
const tag = /<(\/?)(br|sub|sup|u|kbd|mark|ruby|rt|details|summary)((?<=details)[ \t]+open)?[ \t]*\/?>/gi

/** The elements that may contain a details element. In a paragraph it would be invalid HTML. */
const roomy = new Set(['root', 'li', 'blockquote', 'details'])

/** No real text nests deeper, and each level is a level of recursion in all later steps. */
const maxDepth = 12

interface Half {
  readonly type: 'open' | 'close'
  readonly name: string
  readonly source: string
  /** Whether the tag has the attribute `open`. */
  readonly open: boolean
}

interface Level extends Omit<Half, 'type'> {
  readonly children: ElementContent[]
}

type Piece = ElementContent | Half

function isHalf(piece: Piece): piece is Half {
  return piece.type === ('open' as string) || piece.type === ('close' as string)
}

/**
 * rehypeTags creates elements from a few harmless tags by name. It uses no attribute except `open`. An unpaired tag is
 * text. In a text that is still `growing`, an open tag is closed at the end.
 */
export function rehypeTags(growing: boolean) {
  return () => (tree: Root) => visit(tree, growing)
}

function visit(parent: Root | Element, growing: boolean): void {
  const children = parent.children as ElementContent[]
  if (children.some((child) => (child as Nodes).type === 'raw')) {
    const name = parent.type === 'root' ? 'root' : parent.tagName
    parent.children = nest(children.flatMap(pieces), name, growing)
  }
  for (const child of parent.children) if (child.type === 'element') visit(child, growing)
}

function pieces(child: ElementContent): Piece[] {
  const raw = child as Nodes
  if (raw.type !== 'raw') return [child]
  const out: Piece[] = []
  let last = 0
  const add = (value: string) => {
    const trimmed = value.replace(/^\n+|\n+$/g, '')
    if (trimmed !== '') out.push(text(trimmed))
  }
  for (const match of raw.value.matchAll(tag)) {
    add(raw.value.slice(last, match.index))
    const name = (match[2] ?? '').toLowerCase()
    const type = match[1] === '/' ? 'close' : 'open'
    out.push(name === 'br' ? element('br') : { type, name, source: match[0], open: match[3] !== undefined })
    last = match.index + match[0].length
  }
  add(raw.value.slice(last))
  return out
}

function nest(all: readonly Piece[], parent: string, growing: boolean): ElementContent[] {
  const levels: Level[] = [{ name: parent, source: '', open: false, children: [] }]
  const top = () => levels.at(-1) as Level
  /** Ends the innermost level: as an element, or as text if its tag is unpaired. */
  const end = (whole: boolean) => {
    const { name, source, open, children } = levels.pop() as Level
    top().children.push(
      ...(whole ? [element(name, children, open ? { open } : {})] : [text(source), ...children]),
    )
  }
  for (const piece of all) {
    if (!isHalf(piece)) top().children.push(piece)
    else if (piece.type === 'open' && levels.length < maxDepth && fits(piece.name, top().name)) {
      levels.push({ ...piece, children: [] })
    } else if (piece.type === 'close' && levels.slice(1).some(({ name }) => name === piece.name)) {
      while (top().name !== piece.name) end(false)
      end(true)
    } else top().children.push(text(piece.source))
  }
  while (levels.length > 1) end(growing)
  return top().children
}

function fits(name: string, parent: string): boolean {
  if (name === 'summary') return parent === 'details'
  return name !== 'details' || roomy.has(parent)
}
