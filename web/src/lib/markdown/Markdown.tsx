import { memo } from 'react'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import styles from './markdown.module.css'
import type { MarkdownProps } from './markdownProps'

const renderer = new LazyPart(async () => (await import('./Rendered')).Rendered)

/** preloadMarkdown loads the renderer in advance, so that the first text is not shown plain for a moment. */
export function preloadMarkdown(): Promise<void> {
  return renderer.load()
}

/** markdownToHtml converts a Markdown text to HTML for other programs. Its code is loaded on the first copy. */
export async function markdownToHtml(text: string): Promise<string> {
  return (await import('./html')).toHtml(text)
}

/** markdownToSpeech converts a Markdown text to words for reading aloud. Its code is loaded on the first call. */
export async function markdownToSpeech(text: string): Promise<string> {
  return (await import('./speech')).toSpeech(text)
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
