import type { Found } from '../reader/page'
import type { TextName } from './texts'

/** Target is the tab next to the panel, as far as the browser reveals it to the extension. */
export interface Target {
  readonly tabId: number
  /** "" until the extension has been used on the page, because the browser hides the URL. */
  readonly url: string
  readonly title: string
  /** Whether the user has used the extension's button, menu or key on the page. */
  readonly used: boolean
}

/** refusalOf returns why a page cannot be read, in words; null if it can. */
export function refusalOf({ url, used }: Pick<Target, 'url' | 'used'>): TextName | null {
  // The browser hides the URL of a used page only if no extension may read that page.
  if (url === '') return used ? 'closedPage' : 'noAccess'
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return 'otherPage'
  }
  const { protocol, hostname, pathname } = parsed
  if (hostname === 'chromewebstore.google.com') return 'storePage'
  if (hostname === 'chrome.google.com' && pathname.startsWith('/webstore')) return 'storePage'
  if (protocol === 'http:' || protocol === 'https:') return null
  if (protocol === 'file:') return 'filePage'
  if (
    /^(?:chrome|edge|brave|vivaldi|about|devtools|chrome-extension|chrome-search|view-source):$/.test(
      protocol,
    )
  )
    return 'browserPage'
  return 'otherPage'
}

/** Unreadable reports why nothing was read, in words. */
export class Unreadable extends Error {
  override name = 'Unreadable'
  constructor(readonly reason: TextName) {
    super(reason)
  }
}

/** The time limit for reading a page, in milliseconds. */
const patience = 15_000

/** readTab reads the page of a tab. It only detects a PDF and does not read it. */
export async function readTab(target: Target): Promise<Found> {
  const refusal = refusalOf(target)
  if (refusal !== null) throw new Unreadable(refusal)
  let timer: ReturnType<typeof setTimeout> | undefined
  const slow = new Promise<Found>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'slow' }), patience)
  })
  try {
    return await Promise.race([inject(target), slow])
  } finally {
    clearTimeout(timer)
  }
}

async function inject(target: Target): Promise<Found> {
  const at = { tabId: target.tabId }
  try {
    await chrome.scripting.executeScript({ target: at, files: ['reader.js'] })
    const [answer] = await chrome.scripting.executeScript({
      target: at,
      func: () => (globalThis as unknown as { tsumugiRead: () => Promise<unknown> }).tsumugiRead(),
    })
    if (answer?.result) return answer.result as Found
  } catch {
    // The browser's PDF viewer does not run scripts.
    if (looksLikePdf(target.url)) return { kind: 'pdf', url: target.url, title: target.title }
  }
  throw new Unreadable('refusedPage')
}

function looksLikePdf(url: string): boolean {
  return /\.pdf$/i.test(new URL(url).pathname)
}

/** unreadableReason returns the reason why nothing was read from a page; null if something was. */
export function unreadableReason(found: Found): TextName | null {
  switch (found.kind) {
    case 'slow':
      return 'slowPage'
    case 'no-transcript':
      return found.why === 'none' ? 'noTranscript' : 'transcriptRefused'
    case 'empty':
      return found.unreadFrames > 0 ? 'emptyFrames' : 'emptyPage'
    default:
      return null
  }
}

/** The server's maximum size of a PDF file for a page, in bytes. */
const maxPdf = 20 * 1024 * 1024

/** fetchPdf downloads the PDF of a tab with the user's cookies, up to the maximum size. */
export async function fetchPdf(url: string): Promise<Blob> {
  try {
    const response = await fetch(url, { credentials: 'include', signal: AbortSignal.timeout(60_000) })
    if (response.ok && response.body !== null) return await readPdf(response.body)
  } catch (cause) {
    if (cause instanceof Unreadable) throw cause
  }
  throw new Unreadable('pdfFailed')
}

async function readPdf(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const reader = body.getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.byteLength
    if (size > maxPdf) {
      void reader.cancel()
      throw new Unreadable('pdfTooLarge')
    }
    parts.push(next.value)
  }
  return new Blob(parts)
}
