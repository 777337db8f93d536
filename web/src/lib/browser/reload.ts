const RELOADED = 'tsumugiReloaded'
/** The time after which a reloaded page is considered working. */
const HOLDS_MS = 10_000

/** Whether reloading the page may help: it has not just been tried, and the browser is online. */
export function mayReload(): boolean {
  return navigator.onLine && sessionStorage.getItem(RELOADED) === null
}

/** Reloads the page once: see {@link mayReload}. */
export function reloadOnce(): void {
  sessionStorage.setItem(RELOADED, '1')
  window.location.reload()
}

/** Allows another reload some time after the page has loaded. */
export function forgetReload(target: Window): void {
  target.addEventListener('load', () => setTimeout(() => sessionStorage.removeItem(RELOADED), HOLDS_MS))
}
