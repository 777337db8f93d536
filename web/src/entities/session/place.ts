const PLACE_KEY = 'tsumugiReturnTo'
const ENDING_KEY = 'tsumugiEnded'

const REASONS = ['expired', 'sso_required', 'address_refused'] as const

/**
 * Why a session ended by itself: it could not be renewed, its organization now requires single sign-on, or it does not
 * allow this network.
 */
export type EndReason = (typeof REASONS)[number]

/**
 * localPath returns the path and query that `text` contains if it is a page of the app behind the sign-in, else null. A
 * URL or a mail can contain any target. So localPath resolves it at this origin, as the browser does, because `//evil`,
 * `/\evil`, `javascript:` and control characters can lead to other sites.
 */
export function localPath(text: string | null | undefined): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers silently remove some control characters.
  if (!text || !/^\/[^/\\]/.test(text) || /[\\\u0000-\u0020\u007f]/.test(text)) return null
  if (!URL.canParse(text, location.origin)) return null
  const url = new URL(text, location.origin)
  // Dot segments are already resolved: `/home/..//evil` is `//evil`.
  return url.origin === location.origin && needsSession(url.pathname) ? url.pathname + url.search : null
}

/** needsSession reports whether only signed-in users can see a page. */
export function needsSession(path: string): boolean {
  return /^\/(home|admin|setting|chat|share|oauth)(\/|$)/.test(path)
}

/** rememberPlace stores the page to return to after the next sign-in in this tab. It ignores other targets. */
export function rememberPlace(path: string | null = location.pathname + location.search): void {
  const place = localPath(path)
  if (place !== null) sessionStorage.setItem(PLACE_KEY, place)
}

/** rememberedPlace returns the page to return to, or null. */
export function rememberedPlace(): string | null {
  return localPath(sessionStorage.getItem(PLACE_KEY))
}

/** Stores why the session ended, for the sign-in page. */
export function rememberEndReason(ending: EndReason): void {
  sessionStorage.setItem(ENDING_KEY, ending)
}

/** rememberedEndReason returns why this tab's session ended; null if the user ended it or no session existed. */
export function rememberedEndReason(): EndReason | null {
  const ending = sessionStorage.getItem(ENDING_KEY)
  return REASONS.find((reason) => reason === ending) ?? null
}

/** Clears the page and the reason: a new session begins, or the user has signed out. */
export function forgetPlace(): void {
  sessionStorage.removeItem(PLACE_KEY)
  sessionStorage.removeItem(ENDING_KEY)
}

/**
 * hideQuery removes the query from the address bar and the history. Codes and addresses from mails and redirects must
 * not stay there, because the tag manager reads them too. The router keeps the query that it has read. It applies only
 * to a page that the browser itself has loaded.
 */
export function hideQuery(request: Request): void {
  const shown = location.origin + location.pathname + location.search
  if (location.search === '' || shown !== request.url) return
  window.history.replaceState(window.history.state, '', location.pathname)
}
