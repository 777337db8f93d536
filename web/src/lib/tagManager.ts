declare global {
  interface Window {
    dataLayer?: unknown[]
  }
}

/** Starts the tag manager, if one is configured. Its id is checked, since it becomes part of a script's address. */
export function startTagManager(id: string | undefined): void {
  if (!id || !/^GTM-[A-Z0-9]{4,12}$/.test(id)) return
  window.dataLayer ??= []
  window.dataLayer.push({ 'gtm.start': Date.now(), event: 'gtm.js' })
  const script = document.createElement('script')
  script.async = true
  script.src = `https://www.googletagmanager.com/gtm.js?id=${id}`
  document.head.append(script)
}
