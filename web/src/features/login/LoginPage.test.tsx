import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { TooltipProvider } from '@/components/Tooltip'
import { readToken } from '@/lib/token'
import { LoginPage } from './LoginPage'

const way = (auth_type: string) => ({
  auth_type,
  client_id: 'client',
  organization_id: 'org',
  endpoint: 'http://localhost:3000/pool',
  region: 'ap-northeast-1',
})
const tokens = {
  AuthenticationResult: {
    IdToken: 'i',
    AccessToken: 'a',
    ExpiresIn: 3600,
    TokenType: 'Bearer',
    RefreshToken: 'r',
  },
}

describe('the sign-in page', () => {
  const replies: Array<[number, unknown]> = []
  const server = vi.fn<typeof fetch>(async () => {
    const [status, body] = replies.shift() ?? [500, {}]
    return new Response(JSON.stringify(body), { status })
  })

  beforeEach(() => {
    localStorage.clear()
    sessionStorage.clear()
    replies.length = 0
    server.mockClear()
    vi.stubGlobal('fetch', server)
  })

  afterEach(() => {
    document.body.replaceChildren()
    vi.unstubAllGlobals()
  })

  const show = () => {
    const router = createMemoryRouter(
      [
        { path: '/login', Component: LoginPage },
        { path: '/home/*', element: <p>ホーム</p> },
      ],
      { initialEntries: ['/login'] },
    )
    render(
      <TooltipProvider>
        <RouterProvider router={router} />
      </TooltipProvider>,
    )
    return router
  }

  it('asks for the address first, then for the password', async () => {
    replies.push([200, way('cognito')], [200, tokens])
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'hanako@demo.example{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'secret{Enter}')
    expect(await screen.findByText('ホーム')).toBeTruthy()
    expect(readToken()).toMatchObject({
      authType: 'cognito',
      clientId: 'client',
      idToken: 'i',
      refreshToken: 'r',
    })
  })

  it.each([
    ['', 'メールアドレスを入力してください。'],
    ['hanako', 'メールアドレスの形式を確認してください。'],
  ])('says what is wrong with the address %j under the field', async (address, message) => {
    show()
    const user = userEvent.setup()
    const field = screen.getByLabelText('メールアドレス')
    if (address) await user.type(field, address)
    await user.click(screen.getByRole('button', { name: '次へ' }))
    expect(field.getAttribute('aria-invalid')).toBe('true')
    const described = field.getAttribute('aria-describedby') ?? ''
    expect(document.getElementById(described)?.textContent).toBe(message)
    expect(document.activeElement).toBe(field)
    expect(server).not.toHaveBeenCalled()
  })

  it('says that the password is wrong, and lets it be tried again', async () => {
    replies.push(
      [200, way('cognito')],
      [400, { __type: 'NotAuthorizedException', message: 'no' }],
      [200, tokens],
    )
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'bad{Enter}')
    expect(await screen.findByText('メールアドレスまたはパスワードが正しくありません。')).toBeTruthy()
    await user.type(screen.getByLabelText('パスワード'), 'x')
    expect(screen.queryByText('メールアドレスまたはパスワードが正しくありません。')).toBeNull()
    await user.keyboard('{Enter}')
    expect(await screen.findByText('ホーム')).toBeTruthy()
  })

  it('leads a federated user to their organization', async () => {
    replies.push([200, way('federated_idp')])
    const assign = vi.fn()
    vi.stubGlobal('location', { ...window.location, assign, pathname: '/login', search: '' })
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.click(await screen.findByRole('button', { name: '組織の認証画面へ' }))
    expect(assign).toHaveBeenCalledWith('/v1/oauth2/authorize?organization_id=org')
  })

  it('has an invited user choose a password, with the rules ticked as they are met', async () => {
    replies.push(
      [200, way('cognito')],
      [200, { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 's' }],
      [200, tokens],
    )
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'temporary{Enter}')
    const field = await screen.findByLabelText('新しいパスワード')
    await user.type(field, 'Abcdefg1{Enter}')
    expect(screen.getByText('パスワードの条件をすべて満たしてください。')).toBeTruthy()
    expect(screen.getAllByText('（まだ満たしていません）')).toHaveLength(1)
    await user.type(field, '!{Enter}')
    expect(await screen.findByText('ホーム')).toBeTruthy()
  })
})
