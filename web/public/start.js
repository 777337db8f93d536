// Runs before everything else. The content security policy allows no inline script, hence a file of its own.

/**
 * What the app begins with, asked for while the app itself is still on its way: who is signed in first, the rest once that is
 * known. Taken over by src/entities/session/early.ts.
 */
function askEarly(token, paths) {
  const answers = new Map()
  const ask = (path) => {
    const answer = fetch(path, { headers: { Authorization: `Bearer ${token}` } })
    answers.set(path, answer)
    return answer
  }
  const askRest = (me) => {
    if (!me.ok) return
    for (const path of paths) ask(path).catch(() => {}) // Whoever takes it over finds out.
  }
  ask('/v1/me').then(askRest, () => {})
  window.tsumugiEarly = { token, answers }
}

/** Loads parts of the app that would be found only once the app runs. Their names were put at our tag by the build. */
function loadEarly(names) {
  for (const href of new Set(names.split(' '))) {
    const style = href.endsWith('.css')
    const link = document.createElement('link')
    Object.assign(link, { rel: style ? 'preload' : 'modulepreload', crossOrigin: '', href })
    if (style) link.as = 'style'
    document.head.append(link)
  }
}

try {
  // A chosen theme never flashes the other one. Keep the key in step with src/lib/ui/theme.ts.
  const theme = localStorage.getItem('tsumugiTheme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme

  const token = JSON.parse(localStorage.getItem('tsumugiToken'))?.idToken
  const page = /^\/home(?:\/skill(?:\/([\w-]+)(?:\/chat\/([\w-]+))?)?)?\/?$/.exec(location.pathname)
  if (token && page) {
    const [, skill, thread] = page
    const { home, markdown } = document.currentScript.dataset
    loadEarly(thread ? `${home} ${markdown}` : home)
    askEarly(token, [
      '/v1/thread?offset=0&limit=20',
      ...(skill
        ? [`/v1/skill/${skill}`]
        : ['/v1/skill?offset=0&limit=100', '/v1/category?offset=0&limit=100']),
      ...(thread ? [`/v1/thread/${thread}`, `/v1/message?thread_id=${thread}&offset=0&limit=20`] : []),
    ])
  }
} catch {
  // Storage may be forbidden or hold something else: the system's theme is used, and the app asks by itself.
}
