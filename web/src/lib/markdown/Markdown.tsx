import { memo } from 'react'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import styles from './markdown.module.css'

export interface MarkdownProps {
  readonly text: string
  /** Whether more is to come: then what is open at its end is shown as if it were closed. */
  readonly growing?: boolean
  /** Whether it ends before its end: it was stopped, or failed, or reached a limit. */
  readonly cut?: boolean
  /** The numbers that are sources: `[1]` becomes a reference. Keep the set while it says the same. */
  readonly citations?: ReadonlySet<number>
  readonly onCite?: ((index: number) => void) | null
  /** Told of every block that is rendered. */
  readonly onBlock?: (source: string) => void
}

const renderer = new LazyPart(async () => (await import('./Rendered')).Rendered)

/** Loads the renderer ahead, so that the first text is not shown plain for a moment. */
export function preloadMarkdown(): Promise<void> {
  return renderer.load()
}

/**
 * Loads how formulas look, which has the browser lay out the whole page anew: in the middle of an answer, where the first
 * formula needs it, that is a long task; before the answer has begun it is none.
 */
export async function loadFormulaStyles(): Promise<void> {
  await import('katex/dist/katex.min.css')
}

/** A Markdown text as HTML for other programs. What writes it is loaded when something is first copied. */
export async function markdownToHtml(text: string): Promise<string> {
  return (await import('./html')).toHtml(text)
}

/**
 * Markdown from a model: safe whatever it holds (no HTML but a few tags, no scripts, no pictures from elsewhere), fast while it grows.
 * The renderer is loaded when the first text is shown; until then the text is shown as it is.
 */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const Rendered = useLazyPart(renderer, true)
  if (Rendered === null) return <div className={`${styles.markdown} ${styles.plain}`}>{props.text}</div>
  return <Rendered {...props} />
})
