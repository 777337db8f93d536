/**
 * Receives events from the server: changes of threads, messages, notices and data sources on any device. `frames`
 * decodes the wire format, `socket` maintains the connection, and `live` shares it among the tabs of a browser.
 */

import { browserLocks, newTabId } from '@/lib/browser/locks'
import { call } from '../api'
import { caller } from '../api/caller'
import { expiryOf } from '../api/jwt'
import { browserWake } from '../stream/wake'
import { type Channel, Live } from './live'
import { LiveSocket, type Socket } from './socket'

export type { LiveEvents, LiveMessage, LiveType } from './frames'
export type { Live } from './live'

/** A token that expires sooner than this is renewed before use. */
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
  user: () => caller().userId(),
  wake: browserWake,
  visible: () => document.visibilityState === 'visible',
  random: Math.random,
  newId: newTabId,
})

async function token(refused: string | null): Promise<string | null> {
  // An ordinary call handles the reason: it renews an expired token, and ends the session of a removed account.
  if (refused !== null) await call('me')
  return caller().token(soonMs, refused)
}
