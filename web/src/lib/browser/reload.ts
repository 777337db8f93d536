const RELOADED = 'tsumugiReloaded'
/** After how long a page that was loaded anew has proved to hold. */
const HOLDS_MS = 10_000

/** Whether loading the page anew may bring what is missing: it has not just been tried, and there is a network. */
export function mayReload(): boolean {
  return navigator.onLine && sessionStorage.getItem(RELOADED) === null
}

/** Loads the page anew, once: see {@link mayReload}. */
export function reloadOnce(): void {
  sessionStorage.setItem(RELOADED, '1')
  window.location.reload()
}

/** Lets the page be loaded anew again some time after it has come. */
export function forgetReload(target: Window): void {
  target.addEventListener('load', () => setTimeout(() => sessionStorage.removeItem(RELOADED), HOLDS_MS))
}
