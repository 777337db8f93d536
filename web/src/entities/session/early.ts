declare global {
  interface Window {
    /** What public/start.js has asked for, by path, with the id token it used. */
    tsumugiEarly?: { readonly token: string; readonly answers: Map<string, Promise<Response>> }
  }
}

/** How long after the page began an answer may be taken over: what nobody has asked for by then is old. */
const freshMs = 30_000

/**
 * The answer to a request that was sent with this id token before the app ran, if there is one. Each can be taken once; whoever
 * asks again wants to know what is new.
 */
export function takeEarly(request: Request, token: string | undefined): Promise<Response> | undefined {
  const early = window.tsumugiEarly
  if (early === undefined) return undefined
  if (early.token !== token || performance.now() > freshMs) {
    // Nobody will take the rest; what is left unread of it would hold a connection.
    delete window.tsumugiEarly
    return undefined
  }
  if (request.method !== 'GET') return undefined
  const { pathname, search } = new URL(request.url)
  const answer = early.answers.get(pathname + search)
  early.answers.delete(pathname + search)
  return answer
}
