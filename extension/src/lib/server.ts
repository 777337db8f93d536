/** The server that the extension speaks to. */
export interface Server {
  /** Its origin, such as `https://tsumugi.example.jp`. */
  readonly origin: string
  /** Whether the organization has set it by policy, so that people cannot change it. */
  readonly managed: boolean
}

const KEY = 'server'

/**
 * The server that policy names, else the one that was typed, else the one that has packed the extension; null for none.
 */
export async function readServer(): Promise<Server | null> {
  const policy: { server_url?: unknown } = await chrome.storage.managed.get('server_url').catch(() => ({}))
  const managed = toOrigin(policy.server_url)
  if (managed !== null) return { origin: managed, managed: true }
  const origin = toOrigin((await chrome.storage.local.get(KEY))[KEY]) ?? (await readPacked())
  return origin === null ? null : { origin, managed: false }
}

/** The server that this extension was downloaded from; null for one that was built by hand. */
async function readPacked(): Promise<string | null> {
  try {
    const response = await fetch(chrome.runtime.getURL('server.json'))
    const packed: { server_url?: unknown } = await response.json()
    return toOrigin(packed.server_url)
  } catch {
    return null
  }
}

export async function saveServer(origin: string): Promise<void> {
  await chrome.storage.local.set({ [KEY]: origin })
}

/** toOrigin returns the origin of a typed address; null if no server can have it. */
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

/** Why a server cannot be used; null if it can. */
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

/** Whether anything answers, be it only what no extension may read. */
function answers(origin: string): Promise<boolean> {
  return fetch(origin, { mode: 'no-cors', credentials: 'omit', signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  )
}

function isConfig(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'brand' in value && value.brand === 'Tsumugi'
}
