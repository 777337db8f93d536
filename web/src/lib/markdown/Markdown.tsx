import { type ComponentType, memo } from 'react'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import styles from './markdown.module.css'

export interface CitationProps {
  readonly index: number
  /** Whether `markWeak` has marked the citation as unsupported. */
  readonly weak: boolean
}

export interface MarkdownProps {
  readonly text: string
  /** Whether more text will follow. Open syntax at its end is then shown as if it were closed. */
  readonly growing?: boolean
  /** Whether the text is incomplete: it was stopped, failed, or reached a limit. */
  readonly cut?: boolean
  /**
   * Renders `[1]` as a citation of a source. It receives only the number and the mark and reads the rest from a
   * context, so that no block is rendered again when the sources change.
   */
  readonly Citation?: ComponentType<CitationProps> | undefined
  /** Called for every rendered block. */
  readonly onBlock?: (source: string) => void
}

const renderer = new LazyPart(async () => (await import('./Rendered')).Rendered)

/** preloadMarkdown loads the renderer in advance, so that the first text is not shown plain for a moment. */
export function preloadMarkdown(): Promise<void> {
  return renderer.load()
}

/**
 * loadFormulaStyles loads the style sheet for formulas, which makes the browser lay out the whole page again. During an
 * answer, when the first formula needs it, this is a long task, so it is loaded before.
 */
export async function loadFormulaStyles(): Promise<void> {
  await import('katex/dist/katex.min.css')
}

/** markdownToHtml converts a Markdown text to HTML for other programs. Its code is loaded on the first copy. */
export async function markdownToHtml(text: string): Promise<string> {
  return (await import('./html')).toHtml(text)
}

/**
 * Renders Markdown from a model. It is safe for any content (no HTML except a few tags, no scripts, no external
 * pictures) and fast while the text grows. The renderer is loaded when the first text is shown; until then the text is
 * shown plain.
 */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const Rendered = useLazyPart(renderer, true)
  if (Rendered === null) return <div className={`${styles.markdown} ${styles.plain}`}>{props.text}</div>
  return <Rendered {...props} />
})
