import { Readability } from '@mozilla/readability'
import { takeComments } from './comments'
import { flatten, TooSlow } from './flatten'
import { toMarkdown } from './markdown'
import type { Found, ReadPage } from './page'
import { isVideo, readTranscript } from './transcript'

/** The time limit for reading a page, in milliseconds. The panel waits a little longer. */
const patience = 4500

/**
 * The minimum proportion of an article in the text without comments. On a list or an app, Readability finds only a
 * part.
 */
const leastShare = 0.35

/**
 * readDocument reads a page and the frames of its site. It returns the article of each with its comments or, without an
 * article, everything except navigation, header and footer.
 */
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
    const { document: copy, frames, unreadFrames } = flatten(source, deadline)
    const parts = joined([partsOf(copy, deadline), ...frames.map((frame) => framePartsOf(frame, deadline))])
    const selection = selectionOf(source)
    if (parts.text === '' && selection === '') return { kind: 'empty', unreadFrames }
    return { kind: 'page', url, title, ...parts, selection, unreadFrames }
  } catch (cause) {
    if (cause instanceof TooSlow) return { kind: 'slow' }
    throw cause
  }
}

type Parts = Pick<ReadPage, 'text' | 'whole' | 'omitted'>

/** partsOf returns the article of a document with its comments, or all text if it has no article, and the whole. */
function partsOf(copy: Document, deadline: number): Parts {
  const page = copy.body.cloneNode(true) as HTMLElement
  for (const element of page.querySelectorAll(
    'nav, header, footer, aside, [role="navigation"], [role="banner"]',
  )) {
    if (element.closest('main, article') === null) element.remove()
  }
  // Readability drops comments, or mistakes the longest one for the article.
  const comments = takeComments(copy)
  const article = new Readability<Element>(copy, {
    charThreshold: 200,
    serializer: (element) => element as Element,
  }).parse()?.content
  if (performance.now() > deadline) throw new TooSlow()
  const length = lengthOf(page.textContent) - lengthOf(comments?.textContent)
  if (!article || lengthOf(article.textContent) < leastShare * length)
    return { text: toMarkdown(page), whole: '', omitted: 0 }
  const below = comments === null ? '' : sectionOf('コメント', toMarkdown(comments))
  const text = `${toMarkdown(article)}\n\n${below}`.trim()
  // The title is always sent.
  const sent = new Set([...textsOf(article), ...textsOf(comments), copy.title.trim()])
  const missing = textsOf(page).filter((part) => !sent.has(part))
  const omitted = missing.reduce((sum, part) => sum + [...part].length, 0)
  return { text, whole: omitted > 0 ? toMarkdown(page) : '', omitted }
}

/** textsOf returns the text nodes of an element without the spaces around them. */
function textsOf(element: Element | null): string[] {
  if (element === null) return []
  const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const texts: string[] = []
  while (walker.nextNode() !== null) {
    const text = walker.currentNode.nodeValue?.trim() ?? ''
    if (text !== '') texts.push(text)
  }
  return texts
}

/** framePartsOf is partsOf for a frame, whose title becomes a heading. */
function framePartsOf(copy: Document, deadline: number): Parts {
  const title = copy.title.replace(/\s+/g, ' ').trim()
  const { text, whole, omitted } = partsOf(copy, deadline)
  return { text: sectionOf(title, text), whole: sectionOf(title, whole), omitted }
}

/** sectionOf puts a heading before a text that does not begin with one. */
function sectionOf(title: string, text: string): string {
  return text === '' || title === '' || text.startsWith('#') ? text : `## ${title}\n\n${text}`
}

/** joined combines a page and its frames. */
function joined(parts: readonly Parts[]): Parts {
  const join = (texts: string[]) => texts.filter((text) => text !== '').join('\n\n')
  const text = join(parts.map((part) => part.text))
  const omitted = parts.reduce((sum, part) => sum + part.omitted, 0)
  return { text, whole: omitted > 0 ? join(parts.map((part) => part.whole || part.text)) : '', omitted }
}

function lengthOf(text: string | null | undefined): number {
  return (text ?? '').replace(/\s+/g, '').length
}

function selectionOf(source: Document): string {
  return (source.defaultView?.getSelection()?.toString() ?? '').trim()
}
