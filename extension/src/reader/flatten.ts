/** Thrown when a page takes too long to read. */
export class TooSlow extends Error {
  override name = 'TooSlow'
}

/** The elements whose content is not text of the page. */
const dropped = new Set(
  (
    'SCRIPT STYLE NOSCRIPT TEMPLATE LINK META SVG CANVAS VIDEO AUDIO OBJECT EMBED ' +
    'INPUT TEXTAREA SELECT BUTTON DIALOG'
  ).split(' '),
)

/** The attributes that the copy has. */
const copied = 'href src alt class id role colspan rowspan start lang itemprop itemtype'.split(' ')

/** Smaller frames are advertisements and counters, in pixels. */
const smallestFrame = { width: 200, height: 100 }

/** The containers of advertisements, by the names that advertising networks and sites use. */
const advertisements = [
  '.adsbygoogle, .advertisement, .advertisements, .ad-container, .ad-slot, .ad-banner, .ad-wrapper',
  '[data-ad-client], [data-ad-slot], [data-google-query-id]',
  '[id^="google_ads_"], [id^="div-gpt-ad"], [id^="aswift_"], [id^="taboola-"], [class~="OUTBRAIN"]',
  '[aria-label="広告"], [aria-label="Advertisement"]',
].join(', ')

/** Flat is the copy of a document. */
export interface Flat {
  readonly document: Document
  /** The copies of the frames of the same site, in the order of the page. */
  readonly frames: readonly Document[]
  /** The number of frames of other sites that are large enough to have text. */
  readonly unreadFrames: number
}

/**
 * flatten copies the visible part of a document. It omits hidden elements and advertisements, replaces shadow roots by
 * their content, and copies each frame of the same site into a separate document. It does not change the page itself.
 */
export function flatten(source: Document, deadline: number, now = () => performance.now()): Flat {
  const state: State = { frames: [], deadline, now, seen: 0, unreadFrames: 0 }
  const copy = copyDocument(source, source.title, state)
  return { document: copy, frames: state.frames, unreadFrames: state.unreadFrames }
}

interface State {
  readonly frames: Document[]
  readonly deadline: number
  readonly now: () => number
  seen: number
  unreadFrames: number
}

function copyDocument(source: Document, title: string, state: State): Document {
  const copy = document.implementation.createHTMLDocument(title)
  const base = copy.createElement('base')
  base.href = source.baseURI
  copy.head.append(base)
  if (source.body !== null) copyChildren(source.body, copy.body, state)
  return copy
}

function copyChildren(from: ParentNode & Node, to: Element, state: State): void {
  for (const node of from.childNodes) copyNode(node, to, state)
}

function copyNode(node: Node, to: Element, state: State): void {
  if (++state.seen % 200 === 0 && state.now() > state.deadline) throw new TooSlow()
  if (node.nodeType === Node.TEXT_NODE) {
    to.append(node.nodeValue ?? '')
    return
  }
  if (!(node instanceof Element) && node.nodeType !== Node.ELEMENT_NODE) return
  const element = node as Element
  if (dropped.has(element.tagName.toUpperCase()) || element.matches(advertisements) || isHidden(element))
    return
  if (element.tagName === 'IFRAME' || element.tagName === 'FRAME') {
    copyFrame(element as HTMLIFrameElement, state)
    return
  }
  if (element.tagName === 'SLOT') {
    const assigned = (element as HTMLSlotElement).assignedNodes({ flatten: true })
    for (const each of assigned.length > 0 ? assigned : element.childNodes) copyNode(each, to, state)
    return
  }
  const made = to.ownerDocument.createElement(
    /^[a-z][a-z0-9-]*$/i.test(element.localName) ? element.localName : 'div',
  )
  for (const name of copied) {
    const value = element.getAttribute(name)
    if (value !== null) made.setAttribute(name, value)
  }
  to.append(made)
  copyChildren(shadowOf(element) ?? element, made, state)
}

/** shadowOf returns the shadow root of an element. Extensions can also access closed ones. */
function shadowOf(element: Element): ShadowRoot | null {
  if (element.shadowRoot !== null) return element.shadowRoot
  if (!(element instanceof HTMLElement) || typeof chrome === 'undefined' || chrome.dom === undefined)
    return null
  return (chrome.dom.openOrClosedShadowRoot(element) as ShadowRoot | null) ?? null
}

function copyFrame(frame: HTMLIFrameElement, state: State): void {
  const { width, height } = frame.getBoundingClientRect()
  if (width < smallestFrame.width || height < smallestFrame.height) return
  let inside: Document | null = null
  try {
    inside = frame.contentDocument
  } catch {
    // A frame of another site.
  }
  if (inside?.body == null) {
    state.unreadFrames++
    return
  }
  const at = state.frames.length
  const copy = copyDocument(inside, inside.title || frame.title, state)
  state.frames.splice(at, 0, copy) // Before the frames inside it.
}

function isHidden(element: Element): boolean {
  if (element.hasAttribute('hidden') || element.getAttribute('aria-hidden') === 'true') return true
  const view = element.ownerDocument.defaultView
  if (view === null) return false
  const { display, visibility } = view.getComputedStyle(element)
  return display === 'none' || visibility === 'hidden' || visibility === 'collapse'
}
