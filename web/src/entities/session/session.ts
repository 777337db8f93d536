import { isRefusal, renew } from '@/entities/identity/identity'
import {
  clearToken,
  type RefreshedTokens,
  readToken,
  refreshStoredToken,
  TOKEN_KEY,
  type TokenRecord,
} from '@/entities/identity/token'
import type { Caller } from '@/lib/api/caller'
import { ApiError, asApiError, NO_ANSWER, readProblem } from '@/lib/api/errors'
import { RETRY_HEADER } from '@/lib/api/http'
import { expiryOf, subjectOf } from '@/lib/api/jwt'
import { confirmSignIn } from './confirmation'
import {
  type EndReason,
  forgetPlace,
  needsSession,
  rememberAddress,
  rememberEndReason,
  rememberPlace,
} from './place'

const EXPIRED = 'jwt expired'
const NO_USER = 'Not authenticated: no user found'
const SUSPENDED = 'このアカウントは一時停止中か、削除されています。'
const UNREACHED = 'ログインの状態を確認できませんでした。通信環境を確認して、もう一度お試しください。'
const SSO_REQUIRED = 'sso_required'
const ADDRESS_REFUSED = 'address_refused'
const RECENT_SIGN_IN_REQUIRED = 'recent_sign_in_required'
const LOCK = 'tsumugi-refresh'
/** The time until a tab's writes to storage are visible to all tabs. */
const SETTLE_MS = 200

/** The session's effects on the window; tests replace them. */
interface SessionHost {
  go(url: string): void
  alert(message: string): void
  /** Asks the user to sign in again, and reports whether they did. */
  confirm(): Promise<boolean>
}

/** Session is the session of this tab. It attaches the token, renews it, and ends in all tabs at once. */
export class Session implements Caller {
  readonly #host: SessionHost
  #refreshing: Promise<TokenRecord> | null = null
  #ended = false

  constructor(host: SessionHost) {
    this.#host = host
  }

  /**
   * Like `fetch`, with the bearer token. On a 401 `jwt expired`, it refreshes the tokens once, shared by all waiting
   * calls, and retries once. Any other 401, and a refused network, end the session. A call that needs a recent sign-in is
   * retried after it. Other responses are returned unchanged.
   */
  fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const used = readToken()
    const response = await send(request.clone(), used)
    if (response.status === 403) {
      const { code } = await readProblem(response)
      if (code === ADDRESS_REFUSED) this.expire(code)
      if (code !== RECENT_SIGN_IN_REQUIRED || !(await this.#host.confirm())) return response
      return send(request, readToken())
    }
    if (response.status !== 401) return response

    const problem = await readProblem(response)
    if (problem.detail !== EXPIRED || request.headers.has(RETRY_HEADER)) {
      this.#refused(problem)
      return response
    }
    const renewed = await this.refresh(used?.idToken ?? '')
    const retry = new Request(request)
    retry.headers.set(RETRY_HEADER, '1')
    const second = await send(retry, renewed)
    if (second.status === 401) this.#refused(await readProblem(second))
    return second
  }

  /**
   * Renews the tokens. Concurrent calls share one refresh. Tabs refresh one at a time, and a tab uses the tokens that
   * another tab has stored while it waited. `stale` is the refused id token.
   *
   * A refused refresh ends the session. A refresh without an answer from the provider (no network, a proxy's error
   * page, 5xx, 429) does not: the refresh token is valid for 30 days, and a sign-out at every server restart would
   * destroy unsaved work. The refresh then throws an {@link ApiError} that counts as offline, and the next call tries
   * again.
   */
  refresh(stale: string): Promise<TokenRecord> {
    this.#refreshing ??= this.#inTurn(stale).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  async token(ms: number, refused: string | null = null): Promise<string | null> {
    const stored = readToken()
    if (stored === null) return null
    if (stored.idToken !== refused && expiryOf(stored.idToken) > Date.now() + ms) return stored.idToken
    return (await this.refresh(stored.idToken)).idToken
  }

  userId(): string {
    return subjectOf(readToken()?.idToken ?? '')
  }

  /** Ends a session that is no longer valid. The sign-in page shows the reason and leads back to this page. */
  expire(ending: EndReason = 'expired'): void {
    if (this.#ended) return
    this.#ended = true
    rememberPlace()
    rememberEndReason(ending)
    clearToken()
    this.#host.go('/login')
  }

  /**
   * Signs the user out. `tell` notifies the servers and returns the next URL. Other tabs follow. Calls that the servers
   * refuse from now on do not end the session again.
   */
  async leave(tell: () => Promise<string>): Promise<void> {
    this.#ended = true
    const url = await tell()
    forgetPlace()
    rememberAddress('')
    clearToken()
    this.#host.go(url)
  }

  /** Follows the token in other tabs: signs out with them, and restarts if they sign in as another user. */
  follow(target: Window): () => void {
    const onStorage = (event: StorageEvent) => {
      // A tab that is signing out ignores this, because another tab may notice the end of the session first.
      if (this.#ended || (event.key !== TOKEN_KEY && event.key !== null)) return
      const before = subjectOf(parseIdToken(event.oldValue))
      const now = readToken()
      if (now === null) {
        if (before !== '' && needsSession(target.location.pathname)) this.#host.go('/login')
      } else if (before !== '' && before !== subjectOf(now.idToken)) {
        this.#host.go('/home')
      }
    }
    // A page from the back-forward cache has missed events and must not show outdated content.
    const onShow = (event: PageTransitionEvent) => {
      if (event.persisted && readToken() === null && needsSession(target.location.pathname))
        this.#host.go('/login')
    }
    target.addEventListener('storage', onStorage)
    target.addEventListener('pageshow', onShow)
    return () => {
      target.removeEventListener('storage', onStorage)
      target.removeEventListener('pageshow', onShow)
    }
  }

  #refused(problem: ApiError): void {
    if (problem.detail === NO_USER) this.#suspended()
    else this.expire(problem.code === SSO_REQUIRED ? 'sso_required' : 'expired')
  }

  #suspended(): void {
    if (this.#ended) return
    this.#ended = true
    clearToken()
    this.#host.alert(SUSPENDED)
    this.#host.go('/login')
  }

  /** Renews the tokens, unless another tab has done so already. */
  async #renewUnlessDone(stale: string): Promise<TokenRecord> {
    const stored = readToken()
    const taken = stored !== null && stored.idToken !== stale
    return taken ? stored : this.#renew(stored)
  }

  /** Renews the tokens while holding the lock that all tabs share. */
  #inTurn(stale: string): Promise<TokenRecord> {
    if (!navigator.locks) return this.#renewUnlessDone(stale)
    return new Promise((resolve, reject) => {
      const turn = async () => {
        await this.#renewUnlessDone(stale).then(resolve, reject)
        // Other processes see changes of the storage only shortly after the lock is released. Without the wait their
        // tabs would read the old tokens.
        await new Promise((settled) => setTimeout(settled, SETTLE_MS))
      }
      navigator.locks.request(LOCK, turn).catch(reject)
    })
  }

  async #renew(stored: TokenRecord | null): Promise<TokenRecord> {
    let tokens = {} as RefreshedTokens
    try {
      if (stored !== null) tokens = await renew(stored)
    } catch (cause) {
      if (!isRefusal(cause)) throw new ApiError(NO_ANSWER, { detail: UNREACHED }, { cause })
      this.expire()
      throw cause
    }
    const now = readToken()
    // Another user has signed in; these tokens belong to the previous session.
    if (stored !== null && now !== null && now.refreshToken !== stored.refreshToken) return now
    if (now === null) this.expire()
    return refreshStoredToken(tokens)
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

function parseIdToken(text: string | null): string {
  try {
    return String((JSON.parse(text ?? '') as { idToken?: unknown }).idToken ?? '')
  } catch {
    return ''
  }
}

/** The session of this tab. Signing out reloads the page, so that no data of one user stays in memory for the next. */
export const session = new Session({
  go: (url) => window.location.assign(url),
  alert: (message) => window.alert(message),
  confirm: confirmSignIn,
})

/**
 * freshToken returns the stored tokens, renewed if they expire within a minute. It serves calls that contain the access
 * token.
 */
export async function freshToken(): Promise<TokenRecord> {
  const stored = readToken()
  if (stored && expiryOf(stored.accessToken) > Date.now() + 60_000) return stored
  return session.refresh(stored?.idToken ?? '')
}
