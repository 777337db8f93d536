import type { Element, Root } from 'hast'
import ReactMarkdown from 'react-markdown'
import { rehypeAlerts, rehypeBreaks, remarkPlugins } from './plugins'
import { prepare } from './prepare'
import { referencesOf } from './references'
import { safeUrl } from './safeUrl'
import { splitBlocks } from './split'
import { rehypeTags } from './tags'

/** BlockTree is the syntax tree of a block. */
export interface BlockTree {
  readonly tree: Root
  /** The names of the text's footnotes in order; empty for a block without footnotes. */
  readonly notes: readonly string[]
  /** Whether the block may have formulas. */
  readonly math: boolean
}

/** treesOf parses a Markdown text for other programs, block by block. It uses the same steps as the renderer. */
export async function treesOf(text: string): Promise<readonly BlockTree[]> {
  const split = splitBlocks(text)
  const references = referencesOf(split)
  const blocks = split.map(prepare)
  // It includes KaTeX, so it is loaded only for a text with formulas.
  const plugins = blocks.some(({ math }) => math)
    ? [...remarkPlugins, (await import('remark-math')).default]
    : remarkPlugins
  return blocks.map(({ markdown, math }, index) => {
    const { definitions = '', notes = '' } = references[index] ?? {}
    const tree = parse(`${definitions}\n\n${markdown}`, plugins)
    return { tree, notes: notes === '' ? [] : notes.split('\n'), math }
  })
}

function parse(markdown: string, plugins: typeof remarkPlugins): Root {
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
  return tree
}

/**
 * isFormulaCode reports whether an element is a formula: a code element with a class of its own, `code.math-inline`, or
 * `pre > code.math-display`.
 */
export function isFormulaCode(node: Element): boolean {
  const first = node.tagName === 'pre' ? node.children[0] : node
  if (first?.type !== 'element' || first.tagName !== 'code') return false
  const names = first.properties.className
  return Array.isArray(names) && names.some((name) => /^math-(?:inline|display)$/.test(String(name)))
}
