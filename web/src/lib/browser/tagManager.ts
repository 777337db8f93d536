declare global {
  interface Window {
    dataLayer?: unknown[]
  }
}

type Place = { readonly location: { readonly search: string } }

/** The part of the router that tells where the app is. */
export interface Places {
  readonly state: Place
  subscribe(listener: (place: Place) => void): () => void
}

/**
 * Starts the tag manager, if one is configured; the server has checked its id. It reads the
 * page's address: one with a code of a mail or of single sign-on is not for it, so that it waits for another one.
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
