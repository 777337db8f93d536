import { beforeEach, describe, expect, it, vi } from 'vitest'
import { readToken, saveToken, TOKEN_KEY } from '@/entities/identity/token'
import {
  rememberAddress,
  rememberEndReason,
  rememberedAddress,
  rememberedEndReason,
  rememberedPlace,
  rememberPlace,
} from './place'
import { Session } from './session'

/** jwt returns an unsigned JWT with these claims. */
const jwt = (claims: object) => {
  const bytes = new TextEncoder().encode(JSON.stringify(claims))
  return `h.${btoa(String.fromCharCode(...bytes))}.s`
}

const record = {
  authType: 'cognito' as const,
  clientId: 'client',
  refreshToken: 'refresh',
  idToken: jwt({ email: '花子@demo.example' }),
  accessToken: 'access',
  expiresIn: 3600,
  tokenType: 'Bearer',
}

const json = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

const unauthorized = (detail: string) => json(401, { status: 401, code: 'unauthorized', detail })

/** A server that accepts one valid id token, and an identity provider that issues the next one. */
class Server {
  valid = 'new'
  refreshes = 0
  calls: Request[] = []
  asked: unknown[] = []
  refresh: () => Response | Promise<Response> = () =>
    json(200, {
      AuthenticationResult: { IdToken: this.valid, AccessToken: 'a2', ExpiresIn: 3600, TokenType: 'Bearer' },
    })
  refuse: () => Response = () => unauthorized('jwt expired')

  answer = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const path = new URL(request.url).pathname
    if (path === '/v1/auth-type') {
      this.asked.push(await request.json())
      return json(200, { auth_type: 'cognito', client_id: 'client', endpoint: 'http://localhost:3000/pool' })
    }
    if (path === '/pool' || path === '/v1/refresh_token') {
      this.refreshes += 1
      this.calls.push(request)
      return this.refresh()
    }
    this.calls.push(request)
    if (request.headers.get('Authorization') !== `Bearer ${this.valid}`) return this.refuse()
    return json(200, { ok: true, body: await request.clone().text() })
  }

  paths(): string[] {
    return this.calls.map((call) => new URL(call.url).pathname)
  }
}

describe('the session', () => {
  let server: Server
  const host = {
    go: vi.fn<(url: string) => void>(),
    alert: vi.fn<(message: string) => void>(),
    confirm: vi.fn<() => Promise<boolean>>(),
  }

  beforeEach(() => {
    localStorage.clear()
    sessionStorage.clear()
    host.go.mockReset()
    host.alert.mockReset()
    server = new Server()
    vi.stubGlobal('fetch', server.answer)
    window.history.replaceState(null, '', '/home/skill')
    saveToken(record)
  })

  it('sends the bearer id token', async () => {
    server.valid = record.idToken
    const response = await new Session(host).fetch('/v1/me')
    expect(response.status).toBe(200)
    expect(server.calls).toHaveLength(1)
  })

  it('refreshes once on "jwt expired" and retries once, marked with x-no-retry', async () => {
    const response = await new Session(host).fetch('/v1/thread', { method: 'POST', body: '{"a":1}' })
    expect(await response.json()).toEqual({ ok: true, body: '{"a":1}' })
    expect(server.paths()).toEqual(['/v1/thread', '/pool', '/v1/thread'])
    expect(server.calls[0]?.headers.has('x-no-retry')).toBe(false)
    expect(server.calls[2]?.headers.has('x-no-retry')).toBe(true)
    expect(readToken()).toEqual({ ...record, idToken: 'new', accessToken: 'a2' })
    expect(host.go).not.toHaveBeenCalled()
  })

  it('speaks REFRESH_TOKEN_AUTH to the identity provider', async () => {
    await new Session(host).fetch('/v1/me')
    const call = server.calls[1]
    expect(call?.headers.get('X-Amz-Target')).toBe('AWSCognitoIdentityProviderService.InitiateAuth')
    expect(await call?.json()).toEqual({
      AuthFlow: 'REFRESH_TOKEN_AUTH',
      ClientId: 'client',
      AuthParameters: { REFRESH_TOKEN: 'refresh' },
    })
    // The provider is not stored, so the session requests it from the server by the address in the id token.
    expect(server.asked).toEqual([{ email: '花子@demo.example' }])
  })

  it('renews a federated session through the API', async () => {
    saveToken({ ...record, authType: 'federated_idp' })
    server.refresh = () =>
      json(200, { id_token: 'new', access_token: 'a2', expires_in: 60, token_type: 'Bearer' })
    const response = await new Session(host).fetch('/v1/me')
    expect(response.status).toBe(200)
    expect(server.paths()).toEqual(['/v1/me', '/v1/refresh_token', '/v1/me'])
    expect(await server.calls[1]?.json()).toEqual({ client_id: 'client', refresh_token: 'refresh' })
    expect(readToken()?.expiresIn).toBe(60)
  })

  it('merges concurrent refreshes into one', async () => {
    const session = new Session(host)
    const responses = await Promise.all(Array.from({ length: 8 }, () => session.fetch('/v1/me')))
    expect(responses.map((response) => response.status)).toEqual(Array(8).fill(200))
    expect(server.refreshes).toBe(1)
  })

  it('uses the tokens that another tab has refreshed', async () => {
    const turns: Array<() => void> = []
    const locks = {
      request: (_: string, run: () => Promise<unknown>) =>
        new Promise((resolve, reject) => {
          turns.push(() => run().then(resolve, reject))
        }),
    }
    vi.stubGlobal('navigator', { locks })
    const waiting = new Session(host).fetch('/v1/me')
    await vi.waitFor(() => expect(turns).toHaveLength(1))
    saveToken({ ...record, idToken: 'new' })
    turns[0]?.()
    expect((await waiting).status).toBe(200)
    expect(server.refreshes).toBe(0)
  })

  it('makes other tabs wait until its stored tokens are visible', async () => {
    vi.useFakeTimers()
    let over = false
    const locks = {
      request: (_: string, run: () => Promise<unknown>) =>
        run().then(() => {
          over = true
        }),
    }
    vi.stubGlobal('navigator', { locks })
    expect((await new Session(host).fetch('/v1/me')).status).toBe(200)
    expect(over).toBe(false)
    await vi.advanceTimersByTimeAsync(1000)
    expect(over).toBe(true)
    vi.useRealTimers()
  })

  it('does not retry a retry: a second 401 ends the session', async () => {
    server.refresh = () =>
      json(200, {
        AuthenticationResult: { IdToken: 'bad', AccessToken: 'a', ExpiresIn: 1, TokenType: 'Bearer' },
      })
    await new Session(host).fetch('/v1/me')
    expect(server.paths()).toEqual(['/v1/me', '/pool', '/v1/me'])
    expect(readToken()).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
  })

  it('clears the tokens and goes to /login when the refresh is refused', async () => {
    server.refresh = () =>
      json(400, { __type: 'NotAuthorizedException', message: 'Refresh Token has expired' })
    await expect(new Session(host).fetch('/v1/me')).rejects.toThrow('Refresh Token has expired')
    expect(localStorage.getItem(TOKEN_KEY)).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
    expect(host.alert).not.toHaveBeenCalled()
    expect(rememberedPlace()).toBe('/home/skill')
    expect(rememberedEndReason()).toBe('expired')
  })

  it.each([
    ['a federated session', 401, { status: 401, code: 'unauthenticated', detail: 'refused' }],
    ['a deleted client', 400, { __type: 'ResourceNotFoundException', message: 'no client' }],
  ])('ends when the refresh is refused: %s', async (_, status, body) => {
    saveToken({ ...record, authType: status === 401 ? 'federated_idp' : 'cognito' })
    server.refresh = () => json(status, body)
    await expect(new Session(host).fetch('/v1/me')).rejects.toThrow()
    expect(readToken()).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
  })

  describe.each(['cognito', 'federated_idp'] as const)(
    'of %s is kept when the refresh has no answer:',
    (authType) => {
      it.each<[string, () => Response | Promise<Response>]>([
        ['no network', () => Promise.reject(new TypeError('Failed to fetch'))],
        ['an answer that takes too long', () => Promise.reject(new DOMException('late', 'TimeoutError'))],
        ['500', () => json(500, { __type: 'InternalErrorException', message: 'broken' })],
        ["503, a proxy's page", () => new Response('<h1>Service Unavailable</h1>', { status: 503 })],
        ["403, a proxy's page", () => new Response('<h1>Forbidden</h1>', { status: 403 })],
        ["200, a hotel's page", () => new Response('<h1>Welcome</h1>')],
        ['429', () => json(429, { status: 429, code: 'rate_limited', detail: 'later' })],
        [
          'a throttle',
          () => json(authType === 'cognito' ? 400 : 429, { __type: 'TooManyRequestsException' }),
        ],
      ])('%s', async (_, refresh) => {
        const stored = { ...record, authType }
        saveToken(stored)
        server.refresh = refresh
        const session = new Session(host)
        await expect(session.fetch('/v1/me')).rejects.toMatchObject({
          code: 'network',
          detail: expect.stringContaining('もう一度お試しください'),
        })
        expect(readToken()).toEqual(stored)
        expect(host.go).not.toHaveBeenCalled()

        server.refresh = () =>
          authType === 'cognito'
            ? new Server().refresh()
            : json(200, { id_token: 'new', access_token: 'a2', expires_in: 60, token_type: 'Bearer' })
        expect((await session.fetch('/v1/me')).status).toBe(200)
      })
    },
  )

  it('stores a rotated refresh token', async () => {
    server.refresh = () =>
      json(200, {
        AuthenticationResult: {
          IdToken: 'new',
          AccessToken: 'a2',
          ExpiresIn: 1,
          TokenType: 'Bearer',
          RefreshToken: 'next',
        },
      })
    await new Session(host).fetch('/v1/me')
    expect(readToken()?.refreshToken).toBe('next')
  })

  it('does not end a session that another user began during the refresh', async () => {
    const other = { ...record, refreshToken: 'other', idToken: 'new' }
    server.refresh = () => {
      saveToken(other)
      return new Server().refresh()
    }
    await new Session(host).fetch('/v1/me')
    expect(readToken()).toEqual(other)
  })

  it('stays signed out if another tab signed out during the refresh', async () => {
    server.refresh = () => {
      localStorage.clear()
      return new Server().refresh()
    }
    await expect(new Session(host).fetch('/v1/me')).rejects.toThrow('not found in localstorage')
    expect(readToken()).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
  })

  it('ends if the organization requires single sign-on, and tells the sign-in page', async () => {
    server.refuse = () => json(401, { status: 401, code: 'sso_required', detail: 'シングルサインオンで' })
    const response = await new Session(host).fetch('/v1/me')
    expect(response.status).toBe(401)
    expect(server.refreshes).toBe(0)
    expect(readToken()).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
    expect(host.alert).not.toHaveBeenCalled()
    expect(rememberedEndReason()).toBe('sso_required')
  })

  it('ends if the organization does not allow the network, and tells the sign-in page', async () => {
    server.refuse = () =>
      json(403, { status: 403, code: 'address_refused', detail: '許可されたネットワークから' })
    expect((await new Session(host).fetch('/v1/me')).status).toBe(403)
    expect(readToken()).toBeNull()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
    expect(rememberedEndReason()).toBe('address_refused')
  })

  it('retries a call that needs a recent sign-in once the user has signed in again', async () => {
    server.refuse = () => json(403, { status: 403, code: 'recent_sign_in_required', detail: '15分以内の' })
    const change = () => new Session(host).fetch('/v1/factor-policy', { method: 'PUT', body: '{"a":1}' })
    host.confirm.mockResolvedValueOnce(false)
    expect((await change()).status).toBe(403)
    host.confirm.mockImplementationOnce(async () => {
      saveToken({ ...record, idToken: server.valid })
      return true
    })
    const response = await change()
    expect([response.status, await response.json()]).toEqual([200, { ok: true, body: '{"a":1}' }])
    expect(server.calls).toHaveLength(3)
    expect(host.go).not.toHaveBeenCalled()
  })

  it('stores no page and no reason when its user signs out, even if the servers then refuse calls', async () => {
    rememberPlace('/home/skill')
    rememberEndReason('expired')
    rememberAddress('hanako@demo.example')
    server.refresh = () => json(400, { __type: 'NotAuthorizedException', message: 'revoked' })
    const session = new Session(host)
    await session.leave(async () => {
      await expect(session.fetch('/v1/me')).rejects.toThrow('revoked')
      server.refuse = () => unauthorized('Not authenticated: no user found')
      await session.fetch('/v1/me')
      return '/logout/success'
    })
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/logout/success')
    expect(host.alert).not.toHaveBeenCalled()
    expect([readToken(), rememberedPlace(), rememberedEndReason()]).toEqual([null, null, null])
    expect(rememberedAddress()).toBe('')
  })

  it('informs the user of a suspended account, clears the tokens and goes to /login', async () => {
    server.refuse = () => unauthorized('Not authenticated: no user found')
    const session = new Session(host)
    await Promise.all([session.fetch('/v1/me'), session.fetch('/v1/skill')])
    expect(host.alert).toHaveBeenCalledExactlyOnceWith('このアカウントは一時停止中か、削除されています。')
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
    expect(readToken()).toBeNull()
    expect(server.refreshes).toBe(0)
  })

  it('fails a refresh without a record with the fixed message', async () => {
    localStorage.clear()
    await expect(new Session(host).refresh('')).rejects.toThrow(
      'cannot refresh local storage Token: not found in localstorage',
    )
  })

  it('signs out with another tab', () => {
    const stop = new Session(host).follow(window)
    const oldValue = JSON.stringify({ ...record, idToken: `e30.${btoa('{"sub":"u1"}')}.s` })
    localStorage.clear()
    window.dispatchEvent(new StorageEvent('storage', { key: TOKEN_KEY, oldValue, newValue: null }))
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/login')
    stop()
  })

  it('finishes its own sign-out if another tab notices the end of the session first', async () => {
    const session = new Session(host)
    const stop = session.follow(window)
    const oldValue = JSON.stringify({ ...record, idToken: `e30.${btoa('{"sub":"u1"}')}.s` })
    await session.leave(async () => {
      localStorage.clear()
      window.dispatchEvent(new StorageEvent('storage', { key: TOKEN_KEY, oldValue, newValue: null }))
      return '/logout/success'
    })
    stop()
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/logout/success')
  })

  it('restarts when another tab signs in as another user, but not on a refresh', () => {
    const stop = new Session(host).follow(window)
    const token = (sub: string) => ({ ...record, idToken: `e30.${btoa(JSON.stringify({ sub }))}.s` })
    const oldValue = JSON.stringify(token('u1'))
    saveToken(token('u1'))
    window.dispatchEvent(new StorageEvent('storage', { key: TOKEN_KEY, oldValue }))
    expect(host.go).not.toHaveBeenCalled()
    saveToken(token('u2'))
    window.dispatchEvent(new StorageEvent('storage', { key: TOKEN_KEY, oldValue }))
    expect(host.go).toHaveBeenCalledExactlyOnceWith('/home')
    stop()
  })
})

describe('a page from the back-forward cache', () => {
  it.each([
    ['shows nothing any more once its user has signed out', '/home/skill', false, ['/login']],
    ['is shown while its user is signed in', '/home/skill', true, []],
    ['is shown if it is for everybody', '/', false, []],
  ])('%s', (_, path, signedIn, expected) => {
    localStorage.clear()
    if (signedIn) saveToken(record)
    window.history.replaceState(null, '', path)
    const go = vi.fn<(url: string) => void>()
    const stop = new Session({ go, alert: vi.fn(), confirm: vi.fn() }).follow(window)
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    stop()
    expect(go.mock.calls.flat()).toEqual(expected)
  })
})
