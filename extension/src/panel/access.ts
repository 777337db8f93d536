import { useCallback, useEffect, useRef, useState } from 'react'
import { checkServer, readServer, type Server } from '../lib/server'
import { onSession, readGrant, SignedOut, sessionFetch } from '../lib/session'

/** Whether the panel may ask, and what stands in the way. */
export type Access =
  | { readonly kind: 'loading' }
  | { readonly kind: 'setup' }
  | { readonly kind: 'signedOut'; readonly reason: SignedOut['reason']; readonly server: Server }
  | { readonly kind: 'offline' | 'unreachable' | 'wrong'; readonly server: Server }
  | { readonly kind: 'ready'; readonly server: Server }

/** How often a server is looked for that could not be reached, in milliseconds. */
const lookAgain = 5_000

/**
 * Follows sign-in and the line to the server. A panel that is signed in is usable at once; the rest is looked at
 * beside, and again until it is well.
 */
export function useAccess(): { access: Access; retry: () => void; refuse: (cause: SignedOut) => void } {
  const [access, setAccess] = useState<Access>({ kind: 'loading' })
  const turn = useRef(0)
  const look = useCallback(async () => {
    const mine = ++turn.current
    const server = await readServer()
    const granted = server !== null && (await readGrant()) !== null
    if (turn.current !== mine) return
    if (server === null) return setAccess({ kind: 'setup' })
    // What is known stays until more is known, but a panel that opens waits for nothing.
    setAccess((now) => first(now, server, granted))
    const found = await probe(server, granted)
    // Why the server ended a connection is known by the call alone that was refused. It forgets the grant, which has the
    // panel look once more.
    if (isSignedOut(found) && found.reason !== 'none') return setAccess(found)
    if (turn.current !== mine) return
    setAccess((now) => (isSignedOut(now) && isSignedOut(found) ? now : found))
  }, [])
  useEffect(() => {
    void look()
    const again = () => {
      if (document.visibilityState === 'visible') void look()
    }
    const stop = onSession(() => void look())
    window.addEventListener('online', again)
    window.addEventListener('offline', again)
    document.addEventListener('visibilitychange', again)
    return () => {
      stop()
      window.removeEventListener('online', again)
      window.removeEventListener('offline', again)
      document.removeEventListener('visibilitychange', again)
    }
  }, [look])
  const lost = access.kind === 'offline' || access.kind === 'unreachable' || access.kind === 'wrong'
  useEffect(() => {
    if (!lost) return
    const timer = setInterval(() => void look(), lookAgain)
    return () => clearInterval(timer)
  }, [lost, look])
  const refuse = useCallback((cause: SignedOut) => {
    void readServer().then((server) => {
      if (server !== null) setAccess({ kind: 'signedOut', reason: cause.reason, server })
    })
  }, [])
  return { access, retry: () => void look(), refuse }
}

function isSignedOut(access: Access): access is Extract<Access, { kind: 'signedOut' }> {
  return access.kind === 'signedOut'
}

/** What is shown until the server has answered. */
function first(now: Access, server: Server, granted: boolean): Access {
  if (now.kind === 'offline' || now.kind === 'unreachable' || now.kind === 'wrong') return now
  if (granted) return { kind: 'ready', server }
  return isSignedOut(now) ? now : { kind: 'signedOut', reason: 'none', server }
}

async function probe(server: Server, granted: boolean): Promise<Access> {
  if (!navigator.onLine) return { kind: 'offline', server }
  try {
    if (!granted) throw new SignedOut('none')
    const { ok, status } = await sessionFetch('/v1/me', { signal: AbortSignal.timeout(10_000) })
    if (ok || status === 429) return { kind: 'ready', server }
  } catch (cause) {
    if (cause instanceof SignedOut && cause.reason !== 'none') {
      return { kind: 'signedOut', reason: cause.reason, server }
    }
  }
  switch (await checkServer(server.origin)) {
    case 'other':
      return { kind: 'wrong', server }
    case 'unreachable':
      return { kind: navigator.onLine ? 'unreachable' : 'offline', server }
    default:
      return granted ? { kind: 'unreachable', server } : { kind: 'signedOut', reason: 'none', server }
  }
}
