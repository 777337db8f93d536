const PLACE_KEY = 'tsumugiReturnTo'
const ENDING_KEY = 'tsumugiEnded'

/** Why a session ended by itself: it could not be renewed, or its organization has turned to single sign-on. */
export type Ending = 'expired' | 'sso_required'

/**
 * The path in the app that `text` names, with its query, or null. What comes from an address or a mail may lead anywhere:
 * only pages behind the sign-in count, and only as this origin's browser resolves them (`//evil`, `/\evil`,
 * `javascript:` and whatever hides behind control characters resolve to something else, or not at all).
 */
export function localPath(text: string | null | undefined): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers drop some of them, and read on.
  if (!text || !/^\/[^/\\]/.test(text) || /[\\\u0000-\u0020\u007f]/.test(text)) return null
  if (!URL.canParse(text, location.origin)) return null
  const url = new URL(text, location.origin)
  // Dots are resolved by now: `/home/..//evil` is `//evil`.
  return url.origin === location.origin && needsSession(url.pathname) ? url.pathname + url.search : null
}

/** Whether a page is shown to signed-in users only. */
export function needsSession(path: string): boolean {
  return /^\/(home|admin|setting|chat|share)(\/|$)/.test(path)
}

/** Keeps the place to come back to after the next sign-in in this tab; anything that is none is left out. */
export function rememberPlace(path: string | null = location.pathname + location.search): void {
  const place = localPath(path)
  if (place !== null) sessionStorage.setItem(PLACE_KEY, place)
}

/** The place to come back to; null if there is none. */
export function rememberedPlace(): string | null {
  return localPath(sessionStorage.getItem(PLACE_KEY))
}

/** Keeps why the session ended, for the sign-in page to say. */
export function rememberEnding(ending: Ending): void {
  sessionStorage.setItem(ENDING_KEY, ending)
}

/** Why the session ended that this tab had; null for one that was ended by its user, or none. */
export function rememberedEnding(): Ending | null {
  const ending = sessionStorage.getItem(ENDING_KEY)
  return ending === 'expired' || ending === 'sso_required' ? ending : null
}

/** Forgets the place and the ending: a new session begins, or the user has left for good. */
export function forgetPlace(): void {
  sessionStorage.removeItem(PLACE_KEY)
  sessionStorage.removeItem(ENDING_KEY)
}

/**
 * Takes the query off the address bar and the history, where codes and addresses from mails and redirects must not stay (the
 * tag manager reads it, too). The router goes on with the query it has seen. Only for a page that the browser itself has
 * loaded.
 */
export function coverQuery(request: Request): void {
  const shown = location.origin + location.pathname + location.search
  if (location.search === '' || shown !== request.url) return
  window.history.replaceState(window.history.state, '', location.pathname)
}
