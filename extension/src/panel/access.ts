import { useCallback, useEffect, useState } from 'react'
import { readServer, type Server } from '../lib/server'
import { onSession, readGrant, SignedOut, sessionFetch } from '../lib/session'

/** Whether the panel may ask, and what stands in the way. */
export type Access =
  | { readonly kind: 'loading' }
  | { readonly kind: 'setup' }
  | { readonly kind: 'signedOut'; readonly reason: SignedOut['reason']; readonly server: Server }
  | { readonly kind: 'offline' | 'unreachable'; readonly server: Server }
  | { readonly kind: 'ready'; readonly server: Server }

/**
 * Follows sign-in and the line to the server. A panel that is signed in is usable at once; the rest is looked at
 * beside.
 */
export function useAccess(): { access: Access; retry: () => void; refuse: (cause: SignedOut) => void } {
  const [access, setAccess] = useState<Access>({ kind: 'loading' })
  const look = useCallback(async () => {
    const server = await readServer()
    if (server === null) return setAccess({ kind: 'setup' })
    if ((await readGrant()) === null) {
      // Why the server ended a connection is said by the page whose call was refused.
      return setAccess((now) =>
        now.kind === 'signedOut' ? now : { kind: 'signedOut', reason: 'none', server },
      )
    }
    setAccess((now) =>
      now.kind === 'offline' || now.kind === 'unreachable' ? now : { kind: 'ready', server },
    )
    setAccess(await probe(server))
  }, [])
  useEffect(() => {
    void look()
    const again = () => void look()
    const stop = onSession(again)
    window.addEventListener('online', again)
    window.addEventListener('offline', again)
    return () => {
      stop()
      window.removeEventListener('online', again)
      window.removeEventListener('offline', again)
    }
  }, [look])
  const refuse = useCallback((cause: SignedOut) => {
    void readServer().then((server) => {
      if (server !== null) setAccess({ kind: 'signedOut', reason: cause.reason, server })
    })
  }, [])
  return { access, retry: () => void look(), refuse }
}

async function probe(server: Server): Promise<Access> {
  try {
    await sessionFetch('/v1/me', { signal: AbortSignal.timeout(10_000) })
    return { kind: 'ready', server }
  } catch (cause) {
    if (cause instanceof SignedOut) return { kind: 'signedOut', reason: cause.reason, server }
    return { kind: navigator.onLine ? 'unreachable' : 'offline', server }
  }
}
