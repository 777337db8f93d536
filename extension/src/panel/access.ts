import { useCallback, useEffect, useRef, useState } from 'react'
import { checkServer, readServer, type Server } from '../lib/server'
import { onSession, readGrant, SignedOut, sessionFetch, signOutReason } from '../lib/session'

/** Access is whether the panel is usable, or else the reason. */
export type Access =
  | { readonly kind: 'loading' }
  | { readonly kind: 'setup' }
  | { readonly kind: 'signedOut'; readonly reason: SignedOut['reason']; readonly server: Server }
  | { readonly kind: 'offline' | 'unreachable' | 'wrong'; readonly server: Server }
  | { readonly kind: 'ready'; readonly server: Server }

/** The interval of attempts to reach an unreachable server, in milliseconds. */
const lookAgain = 5_000

/**
 * useAccess follows the session and the connection to the server. A signed-in panel is usable at once. The checks run
 * concurrently, and are repeated until they succeed.
 */
export function useAccess(): { access: Access; retry: () => void; refuse: (cause: SignedOut) => void } {
  const [access, setAccess] = useState<Access>({ kind: 'loading' })
  const turn = useRef(0)
  const look = useCallback(async () => {
    const mine = ++turn.current
    const server = await readServer()
    if (turn.current !== mine) return
    if (server === null) return setAccess({ kind: 'setup' })
    const known = await fromStorage(server)
    if (turn.current !== mine) return
    // A lost connection stays lost until the server responds. An opening panel does not wait for that.
    setAccess((now) => (isLost(now) ? now : known))
    const found = await probe(server)
    if (turn.current === mine) setAccess(found)
  }, [])
  useEffect(() => {
    void look()
    const again = () => {
      if (document.visibilityState === 'visible') void look()
    }
    const controller = new AbortController()
    const { signal } = controller
    const stop = onSession(() => void look())
    window.addEventListener('online', again, { signal })
    window.addEventListener('offline', again, { signal })
    document.addEventListener('visibilitychange', again, { signal })
    return () => {
      stop()
      controller.abort()
    }
  }, [look])
  const lost = isLost(access)
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

function isLost({ kind }: Access): boolean {
  return kind === 'offline' || kind === 'unreachable' || kind === 'wrong'
}

/** fromStorage returns the access without a request to the server. */
async function fromStorage(server: Server): Promise<Access> {
  if ((await readGrant()) !== null) return { kind: 'ready', server }
  return { kind: 'signedOut', reason: await signOutReason(server.origin), server }
}

async function probe(server: Server): Promise<Access> {
  if (!navigator.onLine) return { kind: 'offline', server }
  try {
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
  }
  const known = await fromStorage(server)
  return known.kind === 'ready' ? { kind: 'unreachable', server } : known
}
