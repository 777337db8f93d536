import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readToken } from '@/entities/identity/token'
import {
  rememberEndReason,
  rememberedEndReason,
  rememberedPlace,
  rememberPlace,
} from '@/entities/session/place'
import { LoginPage } from './LoginPage'
import { refusal, show as showAt, stubServer, tidy, tokens, way } from './testing'

const challenge = { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 's' }

describe('the sign-in page', () => {
  let server: ReturnType<typeof stubServer>

  beforeEach(() => {
    server = stubServer()
  })
  afterEach(tidy)

  const show = (path = '/login', state?: unknown) => showAt(path, LoginPage, state)

  it('asks for the address first, then for the password', async () => {
    server.replies.push([200, way('cognito')], [200, tokens])
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
    expect(server.server).not.toHaveBeenCalled()
  })

  it('shows that the password is wrong, and allows another attempt', async () => {
    server.replies.push([200, way('cognito')], refusal('NotAuthorizedException', 'no'), [200, tokens])
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

  it.each([
    [null, '/v1/oauth2/authorize?organization_id=org'],
    ['/home/skill/1?q=a', '/v1/oauth2/authorize?organization_id=org&next=%2Fhome%2Fskill%2F1%3Fq%3Da'],
  ])('leads a federated user to their organization, and back to %s', async (place, expected) => {
    if (place) rememberPlace(place)
    server.replies.push([200, way('federated_idp')])
    const assign = vi.spyOn(window.location, 'assign').mockImplementation(() => {})
    const router = show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.click(await screen.findByRole('button', { name: '組織の認証画面へ' }))
    // At once, and again by the button, for users who return.
    expect(new Set(assign.mock.calls.flat())).toEqual(new Set([expected]))
    expect(assign.mock.calls.length).toBeGreaterThan(1)
    await user.click(screen.getByRole('link', { name: '特権管理者としてパスワードでログイン' }))
    expect(router.state.location).toMatchObject({ pathname: '/login/super-admin', state: { email: 'a@b' } })
  })

  it.each([
    ['/login?email=hanako%40demo.example', undefined],
    ['/login', { email: 'hanako@demo.example' }],
  ])('knows the address of an invitation, and of the page before: %s', async (path, state) => {
    server.replies.push([200, way('cognito')])
    const router = show(path, state)
    const field = screen.getByLabelText<HTMLInputElement>('メールアドレス')
    expect(field.value).toBe('hanako@demo.example')
    await userEvent.type(field, '{Enter}')
    await userEvent.click(await screen.findByRole('link', { name: 'パスワードをお忘れの方' }))
    expect(router.state.location).toMatchObject({
      pathname: '/reset/password',
      state: { email: 'hanako@demo.example' },
    })
  })

  it.each([
    ['expired', '有効期間が終了しました'],
    ['sso_required', 'シングルサインオンでログインしてください'],
  ] as const)('says why the session has ended: %s', async (ending, expected) => {
    rememberPlace('/home/skill/1')
    rememberEndReason(ending)
    server.replies.push([200, way('cognito')], [200, tokens])
    const router = show()
    expect(screen.getByText(new RegExp(expected))).toBeTruthy()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'secret{Enter}')
    await screen.findByText('ホーム')
    expect(router.state.location.pathname).toBe('/home/skill/1')
    expect([rememberedEndReason(), rememberedPlace()]).toEqual([null, null])
  })

  it('lets an invited user set a password, and marks the rules that it meets', async () => {
    server.replies.push([200, way('cognito')], [200, challenge], [200, tokens])
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

  it('restarts the challenge if it expires before the password is set', async () => {
    server.replies.push(
      [200, way('cognito')],
      [200, challenge],
      refusal('NotAuthorizedException', 'Invalid session for the user, session is expired.'),
      [200, { ...challenge, Session: 's2' }],
      [200, tokens],
    )
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'temporary{Enter}')
    await user.type(await screen.findByLabelText('新しいパスワード'), 'Abcdefg1!{Enter}')
    expect(await screen.findByText('ホーム')).toBeTruthy()
    expect(server.operations().slice(1)).toEqual([
      'InitiateAuth',
      'RespondToAuthChallenge',
      'InitiateAuth',
      'RespondToAuthChallenge',
    ])
    expect(server.asked[3]?.body).toMatchObject({ AuthParameters: { PASSWORD: 'temporary' } })
    expect(server.asked[4]?.body).toMatchObject({ Session: 's2' })
  })

  it('shows an error when the temporary password has expired', async () => {
    server.replies.push(
      [200, way('cognito')],
      [200, challenge],
      refusal('NotAuthorizedException', 'Invalid session for the user.'),
      refusal(
        'NotAuthorizedException',
        'Temporary password has expired and must be reset by an administrator.',
      ),
    )
    show()
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    await user.type(await screen.findByLabelText('パスワード'), 'temporary{Enter}')
    await user.type(await screen.findByLabelText('新しいパスワード'), 'Abcdefg1!{Enter}')
    expect(await screen.findByText(/招待メールの再送信/)).toBeTruthy()
    expect(readToken()).toBeNull()
  })
})
