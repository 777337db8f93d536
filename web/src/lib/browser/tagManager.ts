declare global {
  interface Window {
    dataLayer?: unknown[]
  }
}

type Place = { readonly location: { readonly search: string } }

/** The part of the router with the current location. */
export interface Places {
  readonly state: Place
  subscribe(listener: (place: Place) => void): () => void
}

/**
 * Starts the tag manager, if one is configured; the server has validated its id. It reads the page's URL and must not
 * see one with a code from a mail or single sign-on, so it waits for the next one.
 */
export function startTagManager(id: string | undefined, places: Places): void {
  if (!id) return
  const startAt = ({ location }: Place) => {
    if (new URLSearchParams(location.search).has('code')) return
    stop()
    load(id)
  }
  const stop = places.subscribe(startAt)
  startAt(places.state)
}

function load(id: string): void {
  window.dataLayer ??= []
  window.dataLayer.push({ 'gtm.start': Date.now(), event: 'gtm.js' })
  const script = document.createElement('script')
  script.async = true
  script.src = `https://www.googletagmanager.com/gtm.js?id=${encodeURIComponent(id)}`
  document.head.append(script)
}
