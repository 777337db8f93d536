import { ApiError, asApiError, NO_ANSWER, readProblem } from './api/errors'
import { IdentityError, renew, UNREACHABLE } from './identity'
import {
  clearToken,
  expiryOf,
  type RefreshedTokens,
  readToken,
  refreshStoredToken,
  subjectOf,
  TOKEN_KEY,
  type TokenRecord,
} from './token'

/** Marks the one retry after a refresh, so that it is never repeated. */
export const RETRY_HEADER = 'x-no-retry'

const EXPIRED = 'jwt expired'
const NO_USER = 'Not authenticated: no user found'
const SUSPENDED = 'このアカウントは一時停止中か、削除されています。'
const RETURN_KEY = 'tsumugiReturnTo'
const LOCK = 'tsumugi-refresh'

/** What the session does to the window; a test puts its own in place. */
export interface SessionHost {
  go(url: string): void
  alert(message: string): void
}

/** The session of this tab: attaches the token, renews it, and ends everywhere at once. */
export class Session {
  readonly #host: SessionHost
  #refreshing: Promise<TokenRecord> | null = null
  #ended = false

  constructor(host: SessionHost) {
    this.#host = host
  }

  /**
   * Like `fetch`, with the bearer token. A 401 `jwt expired` is answered by one refresh, shared by all calls that wait
   * for it, and one retry; a 401 for an account that is gone ends the session. Any other answer is returned as it is.
   */
  fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const used = readToken()
    const response = await send(request.clone(), used)
    if (response.status !== 401) return response

    const { detail } = await readProblem(response)
    if (detail === NO_USER) {
      this.#suspended()
      return response
    }
    if (detail !== EXPIRED || request.headers.has(RETRY_HEADER)) {
      this.expire()
      return response
    }
    const renewed = await this.refresh(used?.idToken ?? '')
    const retry = new Request(request)
    retry.headers.set(RETRY_HEADER, '1')
    const second = await send(retry, renewed)
    if (second.status === 401) {
      const again = await readProblem(second)
      if (again.detail === NO_USER) this.#suspended()
      else this.expire()
    }
    return second
  }

  /**
   * Renews the tokens. Calls made meanwhile wait for the same refresh; tabs take turns, and a tab whose turn comes
   * after another one's refresh takes over what that one stored. `stale` is the id token that was refused.
   * A refused refresh ends the session; an unreachable provider does not, since nothing is known yet.
   */
  refresh(stale: string): Promise<TokenRecord> {
    this.#refreshing ??= this.#renewInTurn(stale).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** Ends the session because it can no longer be renewed; the next sign-in comes back to this page. */
  expire(): void {
    if (this.#ended) return
    rememberPlace()
    this.end('/login')
  }

  /** Forgets the tokens and leaves for `url`. Other tabs follow. */
  end(url: string): void {
    this.#ended = true
    clearToken()
    this.#host.go(url)
  }

  /** Follows what other tabs do to the token: signs out with them, and starts over if they sign in as another user. */
  follow(target: Window): () => void {
    const onStorage = (event: StorageEvent) => {
      if (event.key !== TOKEN_KEY && event.key !== null) return
      const before = subjectOf(parseIdToken(event.oldValue))
      const now = readToken()
      if (now === null) {
        if (before !== '' && needsSession(target.location.pathname)) this.#host.go('/login')
      } else if (before !== '' && before !== subjectOf(now.idToken)) {
        this.#host.go('/home')
      }
    }
    target.addEventListener('storage', onStorage)
    return () => target.removeEventListener('storage', onStorage)
  }

  #suspended(): void {
    if (this.#ended) return
    this.#ended = true
    clearToken()
    this.#host.alert(SUSPENDED)
    this.#host.go('/login')
  }

  async #renewInTurn(stale: string): Promise<TokenRecord> {
    const turn = async () => {
      const stored = readToken()
      if (stored !== null && stored.idToken !== stale) return stored
      return this.#renew(stored)
    }
    return navigator.locks ? navigator.locks.request(LOCK, turn) : turn()
  }

  async #renew(stored: TokenRecord | null): Promise<TokenRecord> {
    try {
      const tokens =
        stored === null
          ? ({} as RefreshedTokens)
          : stored.authType === 'cognito'
            ? await renew(stored)
            : await renewFederated(stored)
      return refreshStoredToken(tokens)
    } catch (cause) {
      if (isUnreachable(cause))
        throw new ApiError(NO_ANSWER, { detail: 'サーバーに接続できませんでした。' }, { cause })
      this.expire()
      throw cause
    }
  }
}

async function send(request: Request, token: TokenRecord | null): Promise<Response> {
  if (token) request.headers.set('Authorization', `Bearer ${token.idToken}`)
  try {
    return await fetch(request)
  } catch (cause) {
    throw asApiError(cause)
  }
}

async function renewFederated(record: TokenRecord): Promise<RefreshedTokens> {
  let response: Response
  try {
    response = await fetch('/v1/refresh_token', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ client_id: record.clientId, refresh_token: record.refreshToken }),
    })
  } catch (cause) {
    throw asApiError(cause)
  }
  if (!response.ok) throw await readProblem(response)
  const answer = (await response.json()) as {
    id_token: string
    access_token: string
    expires_in: number
    token_type: string
  }
  return {
    idToken: answer.id_token,
    accessToken: answer.access_token,
    expiresIn: answer.expires_in,
    tokenType: answer.token_type,
  }
}

function isUnreachable(cause: unknown): boolean {
  if (cause instanceof ApiError) return cause.offline
  return cause instanceof IdentityError && cause.name === UNREACHABLE && cause.status === 0
}

function parseIdToken(text: string | null): string {
  try {
    return String((JSON.parse(text ?? '') as { idToken?: unknown }).idToken ?? '')
  } catch {
    return ''
  }
}

function needsSession(path: string): boolean {
  return /^\/(home|admin|setting|chat)(\/|$)/.test(path)
}

/** Keeps the place to come back to after the next sign-in in this tab. */
export function rememberPlace(path = location.pathname + location.search): void {
  if (needsSession(path)) sessionStorage.setItem(RETURN_KEY, path)
}

/** Takes the place to come back to; `/home` if there is none. */
export function takePlace(): string {
  const path = sessionStorage.getItem(RETURN_KEY)
  sessionStorage.removeItem(RETURN_KEY)
  return path !== null && needsSession(path) ? path : '/home'
}

/** The session of this tab. Leaving loads the page anew, so that nothing of one user stays in memory for the next. */
export const session = new Session({
  go: (url) => window.location.assign(url),
  alert: (message) => window.alert(message),
})

/** The stored tokens, renewed first if they end within a minute: for calls that carry the access token themselves. */
export async function freshToken(): Promise<TokenRecord> {
  const stored = readToken()
  if (stored && expiryOf(stored.accessToken) > Date.now() + 60_000) return stored
  return session.refresh(stored?.idToken ?? '')
}
