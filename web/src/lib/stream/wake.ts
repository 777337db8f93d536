/** The kinds of events after which a connection should be checked. */
export type WakeReason = 'online' | 'visible' | 'restored'

/**
 * WakeSource calls back when the machine, the tab or the network returns. It returns the function that unsubscribes.
 */
export type WakeSource = (listener: (reason: WakeReason) => void) => () => void

/** The browser's own events. */
export const browserWake: WakeSource = (listener) => {
  const controller = new AbortController()
  const { signal } = controller
  window.addEventListener('online', () => listener('online'), { signal })
  window.addEventListener('pageshow', (event) => event.persisted && listener('restored'), { signal })
  const onVisibility = () => document.visibilityState === 'visible' && listener('visible')
  document.addEventListener('visibilitychange', onVisibility, { signal })
  return () => controller.abort()
}
