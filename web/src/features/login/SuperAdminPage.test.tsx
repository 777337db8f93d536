import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readToken } from '@/entities/identity/token'
import { rememberPlace } from '@/entities/session/place'
import { SuperAdminPage } from './SuperAdminPage'
import { refusal, show, stubServer, tidy, tokens, way } from './testing'

describe("the super-admin's sign-in", () => {
  let server: ReturnType<typeof stubServer>

  beforeEach(() => {
    server = stubServer()
  })
  afterEach(tidy)

  const enter = async (email: string, password: string) => {
    const user = userEvent.setup()
    if (email !== '') await user.type(screen.getByLabelText('メールアドレス'), email)
    await user.type(screen.getByLabelText('パスワード'), `${password}{Enter}`)
    return user
  }

  it('signs a super-admin in by password if the organization uses single sign-on', async () => {
    rememberPlace('/home/skill/1')
    server.replies.push(
      [200, way('federated_idp')],
      [200, tokens],
      [200, { role: 'organization-super-admin' }],
    )
    const router = show('/login/super-admin', SuperAdminPage)
    await enter('ａｄｍｉｎ＠demo.example', 'secret')
    expect(await screen.findByText('ホーム')).toBeTruthy()
    expect(router.state.location.pathname).toBe('/home/skill/1')
    expect(server.operations()).toEqual(['/v1/auth-type', 'InitiateAuth', '/v1/me'])
    expect(server.asked[0]?.body).toEqual({ email: 'admin@demo.example' })
    expect(readToken()).toMatchObject({ authType: 'cognito', idToken: 'i' })
  })

  it.each([
    ['organization-admin', [200, { role: 'organization-admin' }]],
    ['general-user', [200, { role: 'general-user' }]],
    ['system-admin', [200, { role: 'system-admin' }]],
    ['whom the server refuses', [401, { status: 401, code: 'sso_required', detail: 'SSO' }]],
  ] as const)('signs %s out again, and says so', async (_, me) => {
    server.replies.push(
      [200, way('federated_idp')],
      [200, tokens],
      me,
      [200, way('federated_idp')],
      [200, {}],
    )
    show('/login/super-admin', SuperAdminPage)
    await enter('user@demo.example', 'secret')
    expect(await screen.findByText(/特権管理者だけです/)).toBeTruthy()
    expect(server.operations().slice(2)).toEqual(['/v1/me', '/v1/auth-type', 'RevokeToken'])
    expect(server.asked.at(-1)?.body).toEqual({ ClientId: 'client', Token: 'r' })
    expect(readToken()).toBeNull()
    expect(screen.getByRole('link', { name: '通常のログイン' }).getAttribute('href')).toBe('/login')
  })

  it('shows that an account is suspended', async () => {
    const gone = { status: 401, code: 'unauthenticated', detail: 'Not authenticated: no user found' }
    server.replies.push([200, way('cognito')], [200, tokens], [401, gone])
    show('/login/super-admin', SuperAdminPage)
    await enter('user@demo.example', 'secret')
    expect(await screen.findByText('このアカウントは一時停止中か、削除されています。')).toBeTruthy()
    expect(readToken()).toBeNull()
  })

  it('shows that the password is wrong, and focuses its field', async () => {
    server.replies.push(
      [200, way('cognito')],
      refusal('NotAuthorizedException', 'Incorrect username or password.'),
    )
    show('/login/super-admin', SuperAdminPage, { email: 'admin@demo.example' })
    expect(document.activeElement).toBe(screen.getByLabelText('パスワード'))
    await enter('', 'wrong')
    expect(await screen.findByText('メールアドレスまたはパスワードが正しくありません。')).toBeTruthy()
    expect(document.activeElement).toBe(screen.getByLabelText('パスワード'))
  })

  it('requests a new password from an invited super-admin first', async () => {
    server.replies.push(
      [200, way('cognito')],
      [200, { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 's' }],
      [200, tokens],
      [200, { role: 'organization-super-admin' }],
    )
    show('/login/super-admin', SuperAdminPage)
    const user = await enter('admin@demo.example', 'temporary')
    await user.type(await screen.findByLabelText('新しいパスワード'), 'Abcdefg1!{Enter}')
    expect(await screen.findByText('ホーム')).toBeTruthy()
  })
})
