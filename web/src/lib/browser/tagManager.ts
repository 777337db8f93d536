declare global {
  interface Window {
    dataLayer?: unknown[]
  }
}

type Place = { readonly location: { readonly search: string } }

/** The part of the router with the current location. */
interface Places {
  readonly state: Place
  subscribe(listener: (place: Place) => void): () => void
}

/**
 * startTagManager starts the tag manager if it is configured; the server has validated its id. The tag manager reads
 * the page's URL and must not see a code from a mail or single sign-on, so the start waits for a URL without one.
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
