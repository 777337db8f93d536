const RELOADED = 'tsumugiReloaded'
/** The time after which a reloaded page is considered working, in milliseconds. */
const HOLDS_MS = 10_000

/**
 * mayReload reports whether reloading the page may help: the last reload was some time ago, and the browser is online.
 */
export function mayReload(): boolean {
  return navigator.onLine && sessionStorage.getItem(RELOADED) === null
}

/** reloadOnce reloads the page unless {@link mayReload} is false. */
export function reloadOnce(): void {
  sessionStorage.setItem(RELOADED, '1')
  window.location.reload()
}

/** Allows another reload some time after the page has loaded. */
export function forgetReload(target: Window): void {
  target.addEventListener('load', () => setTimeout(() => sessionStorage.removeItem(RELOADED), HOLDS_MS))
}
