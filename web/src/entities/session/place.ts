const PLACE_KEY = 'tsumugiReturnTo'
const ENDING_KEY = 'tsumugiEnded'

/** Why a session ended by itself: it could not be renewed, or its organization now requires single sign-on. */
export type Ending = 'expired' | 'sso_required'

/**
 * The path in the app that `text` names, with its query, or null. Input from a URL or a mail may lead anywhere, so only
 * pages behind the sign-in are accepted, as the browser resolves them at this origin (`//evil`, `/\evil`, `javascript:`
 * and tricks with control characters resolve to something else, or not at all).
 */
export function localPath(text: string | null | undefined): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers drop some of them silently.
  if (!text || !/^\/[^/\\]/.test(text) || /[\\\u0000-\u0020\u007f]/.test(text)) return null
  if (!URL.canParse(text, location.origin)) return null
  const url = new URL(text, location.origin)
  // Dots are already resolved: `/home/..//evil` is `//evil`.
  return url.origin === location.origin && needsSession(url.pathname) ? url.pathname + url.search : null
}

/** Whether a page is shown to signed-in users only. */
export function needsSession(path: string): boolean {
  return /^\/(home|admin|setting|chat|share|oauth)(\/|$)/.test(path)
}

/** Stores the page to return to after the next sign-in in this tab; anything else is ignored. */
export function rememberPlace(path: string | null = location.pathname + location.search): void {
  const place = localPath(path)
  if (place !== null) sessionStorage.setItem(PLACE_KEY, place)
}

/** The page to return to; null if there is none. */
export function rememberedPlace(): string | null {
  return localPath(sessionStorage.getItem(PLACE_KEY))
}

/** Stores why the session ended, for the sign-in page. */
export function rememberEnding(ending: Ending): void {
  sessionStorage.setItem(ENDING_KEY, ending)
}

/** Why this tab's session ended; null if its user ended it, or if there was none. */
export function rememberedEnding(): Ending | null {
  const ending = sessionStorage.getItem(ENDING_KEY)
  return ending === 'expired' || ending === 'sso_required' ? ending : null
}

/** Clears the page and the reason: a new session begins, or the user has signed out. */
export function forgetPlace(): void {
  sessionStorage.removeItem(PLACE_KEY)
  sessionStorage.removeItem(ENDING_KEY)
}

/**
 * Removes the query from the address bar and the history, where codes and addresses from mails and redirects must not
 * stay (the tag manager reads it, too). The router keeps the query it has read. Only for a page that the browser itself
 * has loaded.
 */
export function coverQuery(request: Request): void {
  const shown = location.origin + location.pathname + location.search
  if (location.search === '' || shown !== request.url) return
  window.history.replaceState(window.history.state, '', location.pathname)
}
