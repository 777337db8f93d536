import { Readability } from '@mozilla/readability'
import { flatten, TooSlow } from './flatten'
import { toMarkdown } from './markdown'
import type { Found } from './page'
import { isVideo, readTranscript } from './transcript'

/** A page may take so long to be read, in milliseconds. The panel waits a little longer. */
const patience = 4500

/** An article is believed to be the page if it has so much of its text: of a list or an app it finds a corner only. */
const leastShare = 0.35

/** Reads the document of a page: the article if there is one, else everything but what leads through the site. */
export async function readDocument(source: Document = document): Promise<Found> {
  const url = source.URL
  const title = source.title.replace(/\s+/g, ' ').trim()
  if (source.contentType === 'application/pdf') return { kind: 'pdf', url, title }
  if (isVideo(url)) {
    const transcript = await readTranscript(source).catch(() => 'refused' as const)
    const selection = selectionOf(source)
    if (typeof transcript === 'string') return { kind: 'no-transcript', why: transcript, selection }
    return { kind: 'page', url, title, text: transcript.text, selection, unreadFrames: 0 }
  }
  try {
    const deadline = performance.now() + patience
    const { document: copy, unreadFrames } = flatten(source, deadline)
    const text = textOf(copy, deadline)
    const selection = selectionOf(source)
    if (text === '' && selection === '') return { kind: 'empty', unreadFrames }
    return { kind: 'page', url, title, text, selection, unreadFrames }
  } catch (cause) {
    if (cause instanceof TooSlow) return { kind: 'slow' }
    throw cause
  }
}

function textOf(copy: Document, deadline: number): string {
  // Readability takes its document apart.
  const article = new Readability(copy.cloneNode(true) as Document, { charThreshold: 200 }).parse()
  if (performance.now() > deadline) throw new TooSlow()
  for (const element of copy.querySelectorAll(
    'nav, header, footer, aside, [role="navigation"], [role="banner"]',
  )) {
    if (element.closest('main, article') === null) element.remove()
  }
  const whole = copy.body
  const share = lengthOf(article?.textContent) / Math.max(1, lengthOf(whole.textContent))
  return toMarkdown(article?.content && share >= leastShare ? article.content : whole)
}

function lengthOf(text: string | null | undefined): number {
  return (text ?? '').replace(/\s+/g, '').length
}

function selectionOf(source: Document): string {
  return (source.defaultView?.getSelection()?.toString() ?? '').trim()
}
