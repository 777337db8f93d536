import { cleanup, render, screen } from '@testing-library/react'
import { StrictMode } from 'react'
import { createMemoryRouter, RouterProvider, useLocation } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { readToken, saveToken } from '@/entities/identity/token'
import { rememberPlace } from '@/entities/session/place'
import { CallbackPage } from './CallbackPage'
import { callbackLoader } from './callback'

const answer = {
  auth_type: 'federated_idp',
  client_id: 'sso',
  refresh_token: 'r',
  id_token: 'i',
  access_token: 'a',
  expires_in: 3600,
  token_type: 'Bearer',
}

const record = {
  authType: 'federated_idp',
  clientId: 'sso',
  refreshToken: 'r',
  idToken: 'i',
  accessToken: 'a',
  expiresIn: 3600,
  tokenType: 'Bearer',
} as const

function Nothing() {
  return null
}

function Place() {
  const { pathname, search } = useLocation()
  return <output>{pathname + search}</output>
}

describe('the end of a single sign-on', () => {
  const server = vi.fn<typeof fetch>()
  const reply = (status: number, body: unknown) =>
    server.mockImplementation(async () => new Response(JSON.stringify(body), { status }))

  beforeEach(() => {
    localStorage.clear()
    sessionStorage.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
  })

  const show = (query: Record<string, string>) => {
    const router = createMemoryRouter(
      [
        {
          path: '/oauth2/callback',
          loader: callbackLoader,
          Component: CallbackPage,
          HydrateFallback: Nothing,
        },
        { path: '*', Component: Place },
      ],
      { initialEntries: [`/oauth2/callback?${new URLSearchParams(query)}`] },
    )
    render(
      <StrictMode>
        <RouterProvider router={router} />
      </StrictMode>,
    )
    return router
  }
  const place = async () => (await screen.findByRole('status')).textContent

  it('exchanges the code once, keeps the record in its own shape, and goes to /home', async () => {
    reply(200, answer)
    const router = show({ organization_id: 'o1', code: 'c1' })
    expect(await place()).toBe('/home')
    expect(server).toHaveBeenCalledTimes(1)
    const [request] = server.mock.calls[0] as [Request]
    expect(request.url).toContain('/v1/oauth2/callback?organization_id=o1&code=c1')
    expect(request.headers.has('Authorization')).toBe(false)
    expect(readToken()).toEqual(record)
    // Back does not return to the URL with the code.
    await router.navigate(-1)
    expect(server).toHaveBeenCalledTimes(1)
  })

  it('exchanges a code once, even if the loader runs several times', async () => {
    reply(200, answer)
    const url = 'http://localhost/oauth2/callback?organization_id=o1&code=c2'
    const visit = () =>
      callbackLoader({ request: new Request(url), params: {} } as Parameters<typeof callbackLoader>[0])
    const both = await Promise.all([visit(), visit()])
    expect(both.map((response) => (response as Response).headers.get('Location'))).toEqual(['/home', '/home'])
    expect(server).toHaveBeenCalledTimes(1)
  })

  it('ends the previous session, once', async () => {
    saveToken({ ...record, idToken: 'previous' })
    reply(200, { ...answer, next: '/oauth/confirmed' })
    show({ organization_id: 'o1', code: 'c5' })
    expect(await place()).toBe('/oauth/confirmed')
    const calls = server.mock.calls.map(([request]) => request as Request)
    expect(calls.map(({ url }) => new URL(url).pathname)).toEqual(['/v1/oauth2/callback', '/v1/signout'])
    expect(calls[1]?.headers.get('Authorization')).toBe('Bearer previous')
    expect(readToken()?.idToken).toBe('i')
    cleanup()
    show({ organization_id: 'o1', code: 'c5' })
    expect(await place()).toBe('/oauth/confirmed')
    expect(server).toHaveBeenCalledTimes(2)
  })

  it.each([
    [{ next: '/home/skill/1?q=a' }, '/home/skill/1?q=a'],
    [{ next: '//evil.example/home' }, '/home/data-source'],
    [{ next: 'javascript:alert(1)' }, '/home/data-source'],
    [{}, '/home/data-source'],
  ])('R56: goes on to a page of the app: %j', async (next, expected) => {
    rememberPlace('/home/data-source')
    reply(200, { ...answer, ...next })
    show({ organization_id: 'o1', code: JSON.stringify(next) })
    expect(await place()).toBe(expected)
  })

  it.each([
    ['sso_state_invalid', '同じブラウザーで'],
    ['account_not_linked', '自動では連携できません'],
    ['account_linked', '連携の解除'],
    ['account_without_password', 'パスワードの招待'],
    ['account_inactive', '一時停止'],
    ['no_seat', '空きシート'],
    ['sso_denied', '完了しませんでした'],
    ['sso_address_invalid', 'メールアドレスを利用できません'],
    ['sso_response_invalid', '応答を確認できませんでした'],
    ['sso_not_confirmed', '本人確認を求めなかったか'],
    ['sso_disabled', '現在シングルサインオンを利用できません'],
  ])('says what %s means and what to do, in words of our own', async (error, expected) => {
    show({ organization_id: 'o1', error, error_description: '03-0000-0000 にお電話ください。' })
    expect((await screen.findByRole('alert')).textContent).toContain(expected)
    expect(screen.queryByText(/お電話/)).toBeNull()
    expect(screen.getByRole('link', { name: 'もう一度ログイン' }).getAttribute('href')).toBe('/login')
    expect(server).not.toHaveBeenCalled()
    expect(readToken()).toBeNull()
  })

  it('marks the identity provider’s message, shortens it and removes control characters', async () => {
    show({ error: 'temporarily_unavailable', error_description: `a\u202e\n<b>${'x'.repeat(500)}` })
    expect((await screen.findByRole('alert')).textContent).toContain('組織の管理者')
    expect(screen.getByText('temporarily_unavailable')).toBeTruthy()
    const said = screen.getByText(/^a <b>x+$/)
    expect(said.textContent).toHaveLength(200)
  })

  it('passes on the other parameters of the address, and calls no server without an organization', async () => {
    reply(403, { status: 403, code: 'sso_denied', detail: '完了しませんでした。' })
    show({ organization_id: 'o1', code: 'c3', error: 'access_denied', error_description: 'いいえ' })
    expect((await screen.findByRole('alert')).textContent).toContain('完了しませんでした')
    const [request] = server.mock.calls[0] as [Request]
    expect(Object.fromEntries(new URL(request.url).searchParams)).toEqual({
      organization_id: 'o1',
      code: 'c3',
      error: 'access_denied',
      error_description: 'いいえ',
    })
    cleanup()
    show({ code: 'c4' })
    expect((await screen.findByRole('alert')).textContent).toContain('もう一度ログイン')
    expect(server).toHaveBeenCalledTimes(1)
  })

  it.each([
    [410, { status: 410, code: 'code_invalid', detail: '無効です。' }, '有効期限が切れました'],
    [500, { status: 500, code: 'internal', detail: '失敗しました。' }, '完了できませんでした'],
  ])('says why the exchange failed: %i', async (status, problem, expected) => {
    reply(status, problem)
    show({ organization_id: 'o1', code: `c-${status}` })
    expect((await screen.findByRole('alert')).textContent).toContain(expected)
    expect(readToken()).toBeNull()
  })

  it('shows an error when the server cannot be reached', async () => {
    server.mockRejectedValue(new TypeError('Failed to fetch'))
    show({ organization_id: 'o1', code: 'c-off' })
    expect((await screen.findByRole('alert')).textContent).toContain('接続できませんでした')
  })

  it('links to the sign-in page without parameters, and redirects to /home with a session', async () => {
    show({})
    expect((await screen.findByRole('alert')).textContent).toContain('もう一度ログイン')
    cleanup()
    saveToken(record)
    show({})
    expect(await place()).toBe('/home')
  })
})
