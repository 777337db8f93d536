import type { Element, Root } from 'hast'
import styles from './markdown.module.css'
import { type Block, perBlock } from './split'

/** The level of the heading above an answer. */
const base = 2

/** The depths of the headings in a block, in order: `#` is 1. */
const depthsOf = perBlock((block): readonly number[] => {
  const lines =
    block.kind === 'text' ? block.source.matchAll(/^ {0,3}(?:(#{1,6})(?=[ \t]|$)|(=+|-+)[ \t]*$)/gm) : []
  return [...lines].flatMap(([, marks, underline], at) => {
    if (marks !== undefined) return marks.length
    // A line of only dashes is a rule.
    return at === 0 && block.source.trimStart().startsWith(underline ?? '')
      ? []
      : underline?.startsWith('=')
        ? 1
        : 2
  })
})

/** enter returns the path of a heading, outermost first. The heading closes deeper and equal ones. */
function enter(above: readonly number[], depth: number): number[] {
  return [...above.filter((other) => other < depth), depth]
}

/** headingsAbove returns, for each block, the depths of the headings above its text, such as `1,3`. */
export function headingsAbove(blocks: readonly Block[]): string[] {
  let above: readonly number[] = []
  return blocks.map((block) => {
    const before = above.join()
    above = depthsOf(block).reduce<readonly number[]>(enter, above)
    return before
  })
}

/**
 * rehypeHeadings gives each heading the level below its parent heading. A text may begin with `###` or skip levels,
 * which would mislead readers who navigate by headings. The appearance follows the original level.
 */
export function rehypeHeadings(above: string) {
  return () => (tree: Root) => {
    let open = above === '' ? [] : above.split(',').map(Number)
    const visit = (parent: Root | Element) => {
      for (const child of parent.children) {
        if (child.type !== 'element') continue
        const depth = Number(/^h([1-6])$/.exec(child.tagName)?.[1])
        if (Number.isNaN(depth)) {
          visit(child)
          continue
        }
        open = enter(open, depth)
        child.tagName = `h${Math.min(6, base + open.length)}`
        child.properties.className = [styles[`h${Math.min(3, depth)}`] ?? '']
      }
    }
    visit(tree)
  }
}
