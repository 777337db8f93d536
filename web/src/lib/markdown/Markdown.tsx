import { type ComponentType, memo } from 'react'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import styles from './markdown.module.css'

export interface CitationProps {
  readonly index: number
  /** Whether `markWeak` has marked it as unsupported. */
  readonly weak: boolean
}

export interface MarkdownProps {
  readonly text: string
  /** Whether more will follow: then open syntax at its end is shown as if it were closed. */
  readonly growing?: boolean
  /** Whether it is incomplete: it was stopped, failed, or reached a limit. */
  readonly cut?: boolean
  /**
   * Draws `[1]` where it refers to a source. It is given the number and the mark alone and finds the rest by itself, so
   * that no block is rendered again when the sources change.
   */
  readonly Citation?: ComponentType<CitationProps> | undefined
  /** Called for every rendered block. */
  readonly onBlock?: (source: string) => void
}

const renderer = new LazyPart(async () => (await import('./Rendered')).Rendered)

/** Loads the renderer ahead, so that the first text is not shown plain for a moment. */
export function preloadMarkdown(): Promise<void> {
  return renderer.load()
}

/**
 * Loads the style sheet for formulas, which makes the browser lay out the whole page again: in the middle of an answer,
 * when the first formula needs it, that is a long task; before the answer begins it is not.
 */
export async function loadFormulaStyles(): Promise<void> {
  await import('katex/dist/katex.min.css')
}

/** A Markdown text as HTML for other programs. Its code is loaded on the first copy. */
export async function markdownToHtml(text: string): Promise<string> {
  return (await import('./html')).toHtml(text)
}

/**
 * Markdown from a model: safe for any content (no HTML except a few tags, no scripts, no external pictures), fast while
 * it grows. The renderer is loaded when the first text is shown; until then the text is shown plain.
 */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const Rendered = useLazyPart(renderer, true)
  if (Rendered === null) return <div className={`${styles.markdown} ${styles.plain}`}>{props.text}</div>
  return <Rendered {...props} />
})
