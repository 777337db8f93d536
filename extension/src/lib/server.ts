import { deleteAllConversations } from './storedConversations'

/** Server is the server that the extension uses. */
export interface Server {
  /** Its origin, such as `https://tsumugi.example.jp`. */
  readonly origin: string
  /** Whether the organization has set it by policy, so that users cannot change it. */
  readonly managed: boolean
}

const KEY = 'server'

/**
 * readServer returns the server set by policy, else the typed one, else the one that packed the extension; null for
 * none.
 */
export async function readServer(): Promise<Server | null> {
  const policy: { server_url?: unknown } = await chrome.storage.managed.get('server_url').catch(() => ({}))
  const managed = toOrigin(policy.server_url)
  if (managed !== null) return { origin: managed, managed: true }
  const origin = toOrigin((await chrome.storage.local.get(KEY))[KEY]) ?? (await readPacked())
  return origin === null ? null : { origin, managed: false }
}

/** readPacked returns the server that this extension was downloaded from; null for a manual build. */
async function readPacked(): Promise<string | null> {
  try {
    const response = await fetch(chrome.runtime.getURL('server.json'))
    const packed: { server_url?: unknown } = await response.json()
    return toOrigin(packed.server_url)
  } catch {
    return null
  }
}

/** saveServer stores the typed server. A change of the server deletes the conversations, which belong to the old one. */
export async function saveServer(origin: string): Promise<void> {
  const before = await readServer()
  await chrome.storage.local.set({ [KEY]: origin })
  if (before !== null && before.origin !== origin) await deleteAllConversations()
}

/** toOrigin returns the origin of a typed address; null if the address is not valid for a server. */
export function toOrigin(address: unknown): string | null {
  if (typeof address !== 'string' || address.trim() === '') return null
  const typed = address.trim()
  const local = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(typed)
  try {
    const url = new URL(
      /^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : `${local ? 'http' : 'https'}://${typed}`,
    )
    return /^https?:$/.test(url.protocol) && url.hostname !== '' && url.username === '' ? url.origin : null
  } catch {
    return null
  }
}

/** checkServer returns why a server cannot be used; null if it can. */
export async function checkServer(origin: string): Promise<'unreachable' | 'other' | null> {
  try {
    const response = await fetch(`${origin}/config.json`, {
      credentials: 'omit',
      signal: AbortSignal.timeout(10_000),
    })
    const config: unknown = await response.json()
    return response.ok && isConfig(config) ? null : 'other'
  } catch (cause) {
    return cause instanceof SyntaxError || (await answers(origin)) ? 'other' : 'unreachable'
  }
}

/** answers reports whether any server responds, even with a response that extensions cannot read. */
function answers(origin: string): Promise<boolean> {
  return fetch(origin, { mode: 'no-cors', credentials: 'omit', signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  )
}

function isConfig(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'brand' in value && value.brand === 'Tsumugi'
}
