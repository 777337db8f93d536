import 'katex/dist/katex.min.css'
import type { Root } from 'hast'
import rehypeKatex from 'rehype-katex'
import remarkMath from 'remark-math'

// `trust: false` keeps links, images and HTML out of formulas; sizes and expansions are bounded, since a formula is as
// untrusted as any other text. The accessible MathML is part of the output.
const transform = rehypeKatex({
  trust: false,
  strict: 'ignore',
  maxExpand: 500,
  maxSize: 20,
  errorColor: 'inherit',
})

/** What the renderer needs for formulas. */
export const math = {
  remark: remarkMath,
  rehype: () => (tree: Root, file: Parameters<typeof transform>[1]) => transform(tree, file),
}
