/** The kinds of events after which a connection should be checked. */
export type WakeReason = 'online' | 'visible' | 'restored'

/**
 * WakeSource calls back when the machine, the tab or the network returns. It returns the function that unsubscribes.
 */
export type WakeSource = (listener: (reason: WakeReason) => void) => () => void

/** The browser's own events. */
export const browserWake: WakeSource = (listener) => {
  const online = () => listener('online')
  const visible = () => {
    if (document.visibilityState === 'visible') listener('visible')
  }
  const restored = (event: PageTransitionEvent) => {
    if (event.persisted) listener('restored')
  }
  window.addEventListener('online', online)
  window.addEventListener('pageshow', restored)
  document.addEventListener('visibilitychange', visible)
  return () => {
    window.removeEventListener('online', online)
    window.removeEventListener('pageshow', restored)
    document.removeEventListener('visibilitychange', visible)
  }
}
