/**
 * What the server tells while nobody asks: threads, messages and notices that change, on whatever device. `frames` decodes
 * the wire, `socket` keeps the line, `live` shares it among the tabs of a browser. Who shows something subscribes here.
 */

import { session } from '@/entities/session/session'
import { expiryOf, readToken, subjectOf } from '@/entities/session/token'
import { browserLocks, newTabId } from '@/lib/browser/locks'
import { api } from '../api'
import { browserWake } from '../stream/wake'
import { type Channel, Live } from './live'
import { LiveSocket, type Socket } from './socket'

export type { LiveEvents, LiveMessage, LiveType } from './frames'
export type { Live } from './live'

/** A token that ends sooner than this is renewed before it is used. */
const soonMs = 90_000

/** The live events of this tab. */
export const live = new Live({
  connect: (listener) =>
    new LiveSocket(
      {
        open: () => new WebSocket(`${location.origin.replace(/^http/, 'ws')}/v1/live`) as Socket,
        token,
        expiry: expiryOf,
        wake: browserWake,
        now: () => Date.now(),
        random: Math.random,
      },
      listener,
    ),
  locks: browserLocks(),
  channel:
    typeof BroadcastChannel === 'undefined'
      ? null
      : (name) => new BroadcastChannel(name) as unknown as Channel,
  user: () => subjectOf(readToken()?.idToken ?? ''),
  wake: browserWake,
  visible: () => document.visibilityState === 'visible',
  random: Math.random,
  newId: newTabId,
})

async function token(refused: string | null): Promise<string | null> {
  // An ordinary call finds out why: it renews what has expired, and ends the session of an account that is gone.
  if (refused !== null) await api.me()
  const stored = readToken()
  if (stored === null) return null
  if (stored.idToken !== refused && expiryOf(stored.idToken) > Date.now() + soonMs) return stored.idToken
  return (await session.refresh(stored.idToken)).idToken
}
