/** Thrown when a page takes too long to read. */
export class TooSlow extends Error {
  override name = 'TooSlow'
}

/** What is never part of a page's text. */
const dropped = new Set(
  (
    'SCRIPT STYLE NOSCRIPT TEMPLATE LINK META SVG CANVAS VIDEO AUDIO OBJECT EMBED ' +
    'INPUT TEXTAREA SELECT BUTTON DIALOG'
  ).split(' '),
)

/** Frames smaller than this are advertisements and counters, in pixels. */
const smallestFrame = { width: 200, height: 100 }

export interface Flat {
  readonly document: Document
  readonly unreadFrames: number
}

/**
 * A copy of a document as a person sees it, to take apart: hidden parts are left out, shadow roots (closed ones, too)
 * and frames of the same site stand in the place in which they are shown. The page itself is not touched.
 */
export function flatten(source: Document, deadline: number, now = () => performance.now()): Flat {
  const copy = document.implementation.createHTMLDocument(source.title)
  const base = copy.createElement('base')
  base.href = source.baseURI
  copy.head.append(base)
  const state = { copy, deadline, now, seen: 0, unreadFrames: 0 }
  if (source.body !== null) copyChildren(source.body, copy.body, state)
  return { document: copy, unreadFrames: state.unreadFrames }
}

interface State {
  readonly copy: Document
  readonly deadline: number
  readonly now: () => number
  seen: number
  unreadFrames: number
}

function copyChildren(from: ParentNode & Node, to: Element, state: State): void {
  for (const node of from.childNodes) copyNode(node, to, state)
}

function copyNode(node: Node, to: Element, state: State): void {
  if (++state.seen % 200 === 0 && state.now() > state.deadline) throw new TooSlow()
  if (node.nodeType === Node.TEXT_NODE) {
    to.append(state.copy.createTextNode(node.nodeValue ?? ''))
    return
  }
  if (!(node instanceof Element) && node.nodeType !== Node.ELEMENT_NODE) return
  const element = node as Element
  if (dropped.has(element.tagName.toUpperCase()) || isHidden(element)) return
  if (element.tagName === 'IFRAME' || element.tagName === 'FRAME') {
    copyFrame(element as HTMLIFrameElement, to, state)
    return
  }
  if (element.tagName === 'SLOT') {
    const assigned = (element as HTMLSlotElement).assignedNodes({ flatten: true })
    for (const each of assigned.length > 0 ? assigned : element.childNodes) copyNode(each, to, state)
    return
  }
  const made = state.copy.createElement(
    /^[a-z][a-z0-9-]*$/i.test(element.localName) ? element.localName : 'div',
  )
  for (const name of [
    'href',
    'src',
    'alt',
    'class',
    'id',
    'role',
    'colspan',
    'rowspan',
    'start',
    'lang',
    'itemprop',
  ]) {
    const value = element.getAttribute(name)
    if (value !== null) made.setAttribute(name, value)
  }
  to.append(made)
  copyChildren(shadowOf(element) ?? element, made, state)
}

/** The shadow root of an element: extensions may also look into closed ones. */
function shadowOf(element: Element): ShadowRoot | null {
  if (element.shadowRoot !== null) return element.shadowRoot
  if (!(element instanceof HTMLElement) || typeof chrome === 'undefined' || chrome.dom === undefined)
    return null
  return (chrome.dom.openOrClosedShadowRoot(element) as ShadowRoot | null) ?? null
}

function copyFrame(frame: HTMLIFrameElement, to: Element, state: State): void {
  const { width, height } = frame.getBoundingClientRect()
  if (width < smallestFrame.width || height < smallestFrame.height) return
  let inside: Document | null = null
  try {
    inside = frame.contentDocument
  } catch {
    // Another site's.
  }
  if (inside?.body == null) {
    state.unreadFrames++
    return
  }
  const made = state.copy.createElement('section')
  to.append(made)
  copyChildren(inside.body, made, state)
}

function isHidden(element: Element): boolean {
  if (element.hasAttribute('hidden') || element.getAttribute('aria-hidden') === 'true') return true
  const view = element.ownerDocument.defaultView
  if (view === null) return false
  const { display, visibility } = view.getComputedStyle(element)
  return display === 'none' || visibility === 'hidden' || visibility === 'collapse'
}
