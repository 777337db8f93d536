import { readServer } from './server'
import { CLIENT_ID, type Grant, postForm, readGrant, readTokens, saveGrant, toGrant } from './session'
import { deleteAllConversations } from './storedConversations'

/** SignInFailure reports why signing in failed. */
export class SignInFailure extends Error {
  override name = 'SignInFailure'
  constructor(readonly reason: 'canceled' | 'denied' | 'unreachable' | 'expired' | 'unsupported') {
    super(reason)
  }
}

const SCOPE = 'extension'

/** signIn signs in through the server's own page in a browser window, by an authorization code with PKCE (RFC 7636). */
export async function signIn(origin: string): Promise<void> {
  const verifier = randomText(32)
  const state = randomText(16)
  const redirect = chrome.identity.getRedirectURL()
  const url = new URL('/oauth/grant', origin)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: redirect,
    scope: SCOPE,
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const landed = await chrome.identity
    .launchWebAuthFlow({ url: url.href, interactive: true })
    .catch(() => undefined)
  if (landed === undefined) throw new SignInFailure('canceled')
  const answer = new URL(landed).searchParams
  if (answer.get('state') !== state) throw new SignInFailure('denied')
  const code = answer.get('code')
  if (code === null) throw new SignInFailure('denied')
  const response = await post(`${origin}/v1/oauth2/token`, {
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    redirect_uri: redirect,
    code,
    code_verifier: verifier,
  })
  await keep(origin, response)
}

/** Device is a code for signing in on another page or device (RFC 8628). */
export interface Device {
  readonly userCode: string
  /** The URL of the page that accepts the code, including the code. */
  readonly page: string
  readonly deviceCode: string
  readonly expiresAt: number
  readonly intervalMs: number
}

/** beginDevice requests a code. */
export async function beginDevice(origin: string): Promise<Device> {
  const response = await post(`${origin}/v1/oauth2/device`, { client_id: CLIENT_ID, scope: SCOPE })
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>
  const { user_code, device_code, verification_uri, verification_uri_complete, expires_in, interval } = answer
  if (!response.ok || typeof user_code !== 'string' || typeof device_code !== 'string') {
    throw new SignInFailure('unsupported')
  }
  const page = new URL(String(verification_uri_complete ?? verification_uri), origin)
  // The page opens in a tab, so it must be the server's own.
  if (page.origin !== origin) throw new SignInFailure('unsupported')
  return {
    userCode: user_code,
    page: page.href,
    deviceCode: device_code,
    expiresAt: Date.now() + Number(expires_in ?? 600) * 1000,
    intervalMs: Number(interval ?? 5) * 1000,
  }
}

/** awaitDevice waits until the user has entered the code, and signs in. */
export async function awaitDevice(origin: string, device: Device, signal: AbortSignal): Promise<void> {
  let interval = device.intervalMs
  while (Date.now() < device.expiresAt) {
    await pause(interval, signal)
    const response = await post(`${origin}/v1/oauth2/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: CLIENT_ID,
      device_code: device.deviceCode,
    }).catch(() => null)
    if (response === null) continue
    const { error } = (await response
      .clone()
      .json()
      .catch(() => ({}))) as { error?: string }
    if (error === 'slow_down') interval += 5000
    else if (error === 'access_denied') throw new SignInFailure('denied')
    else if (error === 'expired_token') break
    else if (error !== 'authorization_pending') return keep(origin, response)
  }
  throw new SignInFailure('expired')
}

/** signOut ends the connection here and, if reachable, on the server (RFC 7009). */
export async function signOut(): Promise<void> {
  const grant = await readGrant()
  await saveGrant(null)
  await deleteAllConversations()
  if (grant === null || grant.refreshToken === '') return
  await postForm(`${grant.origin}/v1/oauth2/revoke`, {
    client_id: CLIENT_ID,
    token: grant.refreshToken,
  }).catch(() => {})
}

function post(url: string, fields: Record<string, string>): Promise<Response> {
  return postForm(url, fields).catch(() => {
    throw new SignInFailure('unreachable')
  })
}

async function keep(origin: string, response: Response): Promise<void> {
  const tokens = await readTokens(response)
  if (tokens === null) throw new SignInFailure(response.status === 404 ? 'unsupported' : 'denied')
  // The server may have changed since the sign-in began.
  if ((await readServer())?.origin !== origin) throw new SignInFailure('canceled')
  const grant: Grant = toGrant(origin, tokens)
  await deleteConversationsOfOthers(grant)
  await saveGrant(grant)
}

/** The key of the last person who signed in: the server's origin and the id of the user; null if it is unknown. */
const PERSON = 'person'

/**
 * deleteConversationsOfOthers deletes the conversations unless the same person signs in again. A session that the
 * server has ended leaves them in the browser. It must be called before the grant is stored, because the panels then
 * continue the conversations.
 */
async function deleteConversationsOfOthers({ origin, accessToken }: Grant): Promise<void> {
  const id = await fetch(`${origin}/v1/me`, {
    credentials: 'omit',
    headers: { authorization: `Bearer ${accessToken}` },
    signal: AbortSignal.timeout(10_000),
  })
    .then(async (response) => (response.ok ? ((await response.json()) as { id?: string }).id : undefined))
    .catch(() => undefined)
  const person = id === undefined ? null : `${origin} ${id}`
  const last = (await chrome.storage.local.get(PERSON))[PERSON]
  if (person !== null && person === last) return
  await deleteAllConversations()
  await chrome.storage.local.set({ [PERSON]: person })
}

/** randomText returns random bytes as text for a URL. */
export function randomText(bytes: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)))
}

/** challengeOf returns the S256 challenge of a verifier. */
export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new SignInFailure('canceled'))
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new SignInFailure('canceled'))
    })
  })
}
