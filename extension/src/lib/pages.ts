import type { Found } from '../reader/page'
import type { TextName } from './texts'

/** The tab next to the panel, as far as the browser lets the extension know it. */
export interface Target {
  readonly tabId: number
  /** "" while the extension has not been used on the page: the browser hides it until then. */
  readonly url: string
  readonly title: string
  /** Whether the extension's button, menu or key has been used on the page. */
  readonly used: boolean
}

/** Why a page cannot be read, in words; null if it may be. */
export function refusalOf({ url, used }: Pick<Target, 'url' | 'used'>): TextName | null {
  // The browser hides the address of a used page only if no extension may read that page.
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

/** Why nothing was read, in words. */
export class Unreadable extends Error {
  override name = 'Unreadable'
  constructor(readonly reason: TextName) {
    super(reason)
  }
}

/** How long a page may take to be read, in milliseconds. */
const patience = 5000

/** Reads the page of a tab. A PDF is only found to be one. */
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
    // The browser's PDF viewer takes no scripts.
    if (looksLikePdf(target.url)) return { kind: 'pdf', url: target.url, title: target.title }
  }
  throw new Unreadable('refusedPage')
}

function looksLikePdf(url: string): boolean {
  return /\.pdf$/i.test(new URL(url).pathname)
}

/** whyNot returns the reason why nothing was read of a page; null if something was. */
export function whyNot(found: Found): TextName | null {
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

/** The largest PDF file that the server reads for a page, in bytes. */
const maxPdf = 20 * 1024 * 1024

/** Fetches the PDF of a tab, as the person sees it. */
export async function fetchPdf(url: string): Promise<Blob> {
  const response = await fetch(url, { credentials: 'include', signal: AbortSignal.timeout(60_000) }).catch(
    () => null,
  )
  if (response === null || !response.ok) throw new Unreadable('pdfFailed')
  const file = await response.blob()
  if (file.size > maxPdf) throw new Unreadable('pdfTooLarge')
  return file
}
