import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { createMemoryRouter, RouterProvider, useLocation } from 'react-router'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readToken } from '@/entities/identity/token'
import { LinkPage } from './LinkPage'
import { linkLoader } from './link'
import { refusal, stubServer, tidy, tokens, way } from './testing'

function Nothing() {
  return null
}

function Place() {
  const { pathname, search } = useLocation()
  return <output>{pathname + search}</output>
}

describe('the link of an administrator to their single sign-on', () => {
  let server: ReturnType<typeof stubServer>

  beforeEach(() => {
    server = stubServer()
  })
  afterEach(() => tidy())

  const show = (query = '?organization_id=o1&link=l1') => {
    const router = createMemoryRouter(
      [
        { path: '/login/link', loader: linkLoader, Component: LinkPage, HydrateFallback: Nothing },
        { path: '*', Component: Place },
      ],
      { initialEntries: [`/login/link${query}`] },
    )
    render(<RouterProvider router={router} />)
  }
  const place = async () => (await screen.findByRole('status')).textContent
  const enter = async () => {
    server.replies.push([200, { email: 'admin@demo.example' }], [200, way('federated_idp')], [200, tokens])
    show()
    await userEvent.type(await screen.findByLabelText('パスワード'), 'secret{Enter}')
    await screen.findByText('シングルサインオンとこのアカウントを連携しますか？')
  }

  it('requests the password and the consent to link, and continues with the code', async () => {
    await enter()
    server.replies.push([200, { organization_id: 'o1', code: 'c1' }], [200, way('federated_idp')], [200, {}])
    await userEvent.click(screen.getByRole('button', { name: '連携する' }))
    expect(await place()).toBe('/oauth2/callback?organization_id=o1&code=c1')
    expect(server.operations()).toEqual([
      '/v1/oauth2/link',
      '/v1/auth-type',
      'InitiateAuth',
      '/v1/oauth2/link',
      '/v1/auth-type',
      'RevokeToken',
    ])
    expect(server.asked[3]?.body).toEqual({ organization_id: 'o1', link: 'l1' })
    expect(readToken()).toBeNull()
  })

  it('links nothing without consent, and keeps no session', async () => {
    await enter()
    server.replies.push([200, way('federated_idp')], [200, {}])
    await userEvent.click(screen.getByRole('button', { name: '連携しない' }))
    expect(await place()).toBe('/login')
    expect(server.operations().slice(3)).toEqual(['/v1/auth-type', 'RevokeToken'])
    expect(readToken()).toBeNull()
  })

  it('does not request consent before the password is correct', async () => {
    server.replies.push(
      [200, { email: 'admin@demo.example' }],
      [200, way('federated_idp')],
      refusal('NotAuthorizedException', 'no'),
    )
    show()
    await userEvent.type(await screen.findByLabelText('パスワード'), 'bad{Enter}')
    expect(await screen.findByText('メールアドレスまたはパスワードが正しくありません。')).toBeTruthy()
    expect(screen.queryByText(/連携しますか？/)).toBeNull()
  })

  it('shows an error when the link has expired', async () => {
    server.replies.push([400, { status: 400, code: 'sso_state_invalid', detail: '期限が切れました。' }])
    show()
    expect(await place()).toContain('/oauth2/callback?error=sso_state_invalid')
    cleanup()
    show('')
    expect(await place()).toBe('/login')
  })
})
