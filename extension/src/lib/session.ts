import { readServer } from './server'

/** The tokens of this browser. */
export interface Grant {
  /** The origin of the server that issued the tokens. */
  readonly origin: string
  readonly accessToken: string
  readonly refreshToken: string
  /** The expiry of the access token, in milliseconds since the epoch. */
  readonly expiresAt: number
}

const KEY = 'grant'
const ENDED = 'ended'
/** A token is renewed this long before it expires, in milliseconds. */
const early = 60_000

/** The reason for a missing token: no sign-in yet, or the server has ended or refuses the session. */
export class SignedOut extends Error {
  override name = 'SignedOut'
  constructor(readonly reason: 'none' | 'ended' | 'suspended' | 'sso') {
    super(reason)
  }
}

export async function readGrant(): Promise<Grant | null> {
  const grant = (await chrome.storage.local.get(KEY))[KEY] as Grant | undefined
  const server = await readServer()
  return grant !== undefined && grant.origin === server?.origin ? grant : null
}

export async function saveGrant(grant: Grant | null): Promise<void> {
  await chrome.storage.local.remove(grant === null ? [KEY, ENDED] : ENDED)
  if (grant !== null) await chrome.storage.local.set({ [KEY]: grant })
}

/**
 * signOutReason returns the reason for a missing session at a server. Another page of the extension may have received
 * it.
 */
export async function signOutReason(origin: string): Promise<SignedOut['reason']> {
  const ended = (await chrome.storage.local.get(ENDED))[ENDED] as Ended | undefined
  return ended?.origin === origin ? ended.reason : 'none'
}

interface Ended {
  readonly origin: string
  readonly reason: SignedOut['reason']
}

/** onSession calls back after a sign-in, a sign-out or a change of the server. It returns a function that stops it. */
export function onSession(listener: () => void): () => void {
  const onChanged = (changes: Record<string, unknown>, area: string) => {
    if (area === 'managed' || (area === 'local' && (KEY in changes || 'server' in changes))) listener()
  }
  chrome.storage.onChanged.addListener(onChanged)
  return () => chrome.storage.onChanged.removeListener(onChanged)
}

/**
 * validGrant returns a valid grant. Refresh tokens rotate, and using one twice ends the connection. So the pages of the
 * extension refresh one at a time under a lock, and each first checks whether another one has renewed the grant.
 * `refused` is a token that the server has just refused.
 */
export async function validGrant(refused?: string): Promise<Grant> {
  const usable = (grant: Grant) => grant.accessToken !== refused && grant.expiresAt - Date.now() > early
  const found = await readGrant()
  if (found === null) throw new SignedOut('none')
  if (usable(found)) return found
  return navigator.locks.request('tsumugi-grant', async () => {
    const grant = await readGrant()
    if (grant === null) throw new SignedOut('none')
    return usable(grant) ? grant : renew(grant)
  })
}

async function renew(grant: Grant): Promise<Grant> {
  if (grant.refreshToken === '') throw await end(grant, 'ended')
  const response = await postForm(`${grant.origin}/v1/oauth2/token`, {
    grant_type: 'refresh_token',
    client_id: CLIENT_ID,
    refresh_token: grant.refreshToken,
  })
  const refusal = (await response
    .clone()
    .json()
    .catch(() => null)) as { error?: string } | null
  if (refusal?.error === 'invalid_grant' || refusal?.error === 'invalid_client')
    throw await end(grant, 'ended')
  const answer = await readTokens(response)
  // Neither tokens nor a refusal: the server is busy, or an intermediary has responded.
  if (answer === null) throw new TypeError('the grant could not be renewed')
  const renewed = toGrant(grant.origin, answer, grant.refreshToken)
  await saveGrant(renewed)
  return renewed
}

/** end deletes an invalid grant. */
async function end({ origin }: Grant, reason: SignedOut['reason']): Promise<SignedOut> {
  await chrome.storage.local.set({ [ENDED]: { origin, reason } satisfies Ended })
  await chrome.storage.local.remove(KEY)
  return new SignedOut(reason)
}

export const CLIENT_ID = 'tsumugi-extension'

export interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string
  readonly expires_in: number
}

export function toGrant(origin: string, tokens: Tokens, refreshToken = ''): Grant {
  return {
    origin,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? refreshToken,
    expiresAt: Date.now() + tokens.expires_in * 1000,
  }
}

/** readTokens returns the tokens of a response; null for a refusal. */
export async function readTokens(response: Response): Promise<Tokens | null> {
  const answer = (await response.json().catch(() => null)) as Partial<Tokens> | null
  return response.ok && typeof answer?.access_token === 'string' && typeof answer.expires_in === 'number'
    ? (answer as Tokens)
    : null
}

export function postForm(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body: new URLSearchParams(fields),
    credentials: 'omit',
    signal: AbortSignal.timeout(15_000),
  })
}

/**
 * sessionFetch is a `fetch` for the server's paths that authenticates each call. It renews a refused token once. If the
 * server refuses the session itself, it throws SignedOut.
 */
export const sessionFetch: typeof fetch = async (input, init) => {
  const path = String(input)
  const call = (grant: Grant) =>
    fetch(grant.origin + path, {
      ...init,
      credentials: 'omit',
      headers: { ...headersOf(init?.headers), authorization: `Bearer ${grant.accessToken}` },
    })
  const grant = await validGrant()
  const response = await call(grant)
  if (response.status !== 401) return response
  const refused = await refusal(response)
  if (refused !== 'ended') throw new SignedOut(refused)
  const again = await call(await validGrant(grant.accessToken))
  if (again.status === 401) throw await end(grant, await refusal(again))
  return again
}

/** readJSON returns the JSON at one of the server's paths. It throws if the server refuses. */
export async function readJSON<T>(path: string, get: typeof fetch = sessionFetch): Promise<T> {
  const response = await get(path)
  if (!response.ok) throw new Error(`GET ${path}: ${response.status}`)
  return (await response.json()) as T
}

function headersOf(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers))
}

/** refusal returns why the server refuses the user. */
async function refusal(response: Response): Promise<'ended' | 'suspended' | 'sso'> {
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string }
  if (problem.code === 'sso_required') return 'sso'
  return problem.detail === 'Not authenticated: no user found' ? 'suspended' : 'ended'
}
