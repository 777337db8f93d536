import { Readability } from '@mozilla/readability'
import { flatten, TooSlow } from './flatten'
import { toMarkdown } from './markdown'
import type { Found, ReadPage } from './page'
import { isVideo, readTranscript } from './transcript'

/** A page may take so long to be read, in milliseconds. The panel waits a little longer. */
const patience = 4500

/** An article is believed to be the page if it has so much of its text: of a list or an app it finds a corner only. */
const leastShare = 0.35

/** The containers of advertisements, by the names that advertising networks give them. */
const advertisements = '.adsbygoogle, .ad-container, .advertisement, [id^="google_ads_"], [id^="div-gpt-ad"]'

/** Reads the document of a page: the article if there is one, else everything but what leads through the site. */
export async function readDocument(source: Document = document): Promise<Found> {
  const url = source.URL
  const title = source.title.replace(/\s+/g, ' ').trim()
  if (source.contentType === 'application/pdf') return { kind: 'pdf', url, title }
  if (isVideo(url)) {
    const transcript = await readTranscript(source).catch(() => 'refused' as const)
    const selection = selectionOf(source)
    if (typeof transcript === 'string') return { kind: 'no-transcript', why: transcript, selection }
    return {
      kind: 'page',
      url,
      title,
      text: transcript.text,
      whole: '',
      omitted: 0,
      selection,
      unreadFrames: 0,
    }
  }
  try {
    const deadline = performance.now() + patience
    const { document: copy, unreadFrames } = flatten(source, deadline)
    const parts = partsOf(copy, deadline)
    const selection = selectionOf(source)
    if (parts.text === '' && selection === '') return { kind: 'empty', unreadFrames }
    return { kind: 'page', url, title, ...parts, selection, unreadFrames }
  } catch (cause) {
    if (cause instanceof TooSlow) return { kind: 'slow' }
    throw cause
  }
}

/** The text of the article, or of the page where there is none, and the page that the article is part of. */
function partsOf(copy: Document, deadline: number): Pick<ReadPage, 'text' | 'whole' | 'omitted'> {
  for (const element of copy.querySelectorAll(advertisements)) element.remove()
  // Readability takes its document apart.
  const article = new Readability(copy.cloneNode(true) as Document, { charThreshold: 200 }).parse()
  if (performance.now() > deadline) throw new TooSlow()
  for (const element of copy.querySelectorAll(
    'nav, header, footer, aside, [role="navigation"], [role="banner"]',
  )) {
    if (element.closest('main, article') === null) element.remove()
  }
  const share = lengthOf(article?.textContent) / Math.max(1, lengthOf(copy.body.textContent))
  const whole = toMarkdown(copy.body)
  if (!article?.content || share < leastShare) return { text: whole, whole: '', omitted: 0 }
  const text = toMarkdown(article.content)
  const omitted = omittedFrom(whole, text, copy.title)
  return omitted > 0 ? { text, whole, omitted } : { text, whole: '', omitted: 0 }
}

/** The number of characters in lines of a page that its article does not have. The title is sent in any case. */
function omittedFrom(whole: string, article: string, title: string): number {
  const linesOf = (text: string) => text.split('\n').map((line) => line.replace(/^#+ /, '').trim())
  const known = new Set([...linesOf(article), title.trim(), ''])
  const missing = linesOf(whole).filter((line) => !known.has(line))
  return missing.reduce((sum, line) => sum + [...line].length, 0)
}

function lengthOf(text: string | null | undefined): number {
  return (text ?? '').replace(/\s+/g, '').length
}

function selectionOf(source: Document): string {
  return (source.defaultView?.getSelection()?.toString() ?? '').trim()
}
