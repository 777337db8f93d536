import { act, fireEvent, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readToken, saveToken } from '@/entities/identity/token'
import { ResetPasswordPage } from './ResetPasswordPage'
import { refusal, show, stubServer, tidy, way } from './testing'

const good = 'Abcdefg1!'

describe('the password reset', () => {
  let server: ReturnType<typeof stubServer>

  beforeEach(() => {
    server = stubServer()
  })
  afterEach(() => tidy())

  it('sends a code, then sets the password with it', async () => {
    server.replies.push([200, way('cognito')], [200, {}], [200, way('cognito')], [200, {}])
    const router = show('/reset/password', ResetPasswordPage)
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('メールアドレス'), 'hanako@demo.example{Enter}')
    // The page does not reveal whether the address is registered.
    expect(await screen.findByText(/hanako@demo.example が登録されている場合は/)).toBeTruthy()
    expect(document.activeElement).toBe(screen.getByLabelText('確認コード'))
    await user.type(screen.getByLabelText('確認コード'), '１２３ ４５６')
    await user.type(screen.getByLabelText('新しいパスワード'), `${good}{Enter}`)
    expect(await screen.findByRole('heading', { name: 'パスワードを再設定しました' })).toBeTruthy()
    expect(server.operations()).toEqual([
      '/v1/auth-type',
      'ForgotPassword',
      '/v1/auth-type',
      'ConfirmForgotPassword',
    ])
    expect(server.asked.at(-1)?.body).toEqual({
      ClientId: 'client',
      Username: 'hanako@demo.example',
      ConfirmationCode: '123456',
      Password: good,
    })
    await user.click(screen.getByRole('button', { name: 'ログイン' }))
    expect(router.state.location).toMatchObject({
      pathname: '/login',
      state: { email: 'hanako@demo.example' },
    })
  })

  it('requests only the password when the link in the mail has the address and the code', async () => {
    server.replies.push([200, way('cognito')], [200, {}])
    show('/reset/password?email=hanako%40demo.example&code=654321', ResetPasswordPage)
    expect(screen.getByLabelText<HTMLInputElement>('確認コード').value).toBe('654321')
    const field = screen.getByLabelText('新しいパスワード')
    expect(document.activeElement).toBe(field)
    await userEvent.type(field, `${good}{Enter}`)
    expect(await screen.findByRole('heading', { name: 'パスワードを再設定しました' })).toBeTruthy()
    expect(server.asked.at(-1)?.body).toMatchObject({
      Username: 'hanako@demo.example',
      ConfirmationCode: '654321',
    })
  })

  it.each([
    ['?email=hanako%40demo.example', 'hanako@demo.example'],
    ['?email=hanako%40demo.example&code=%3Cb%3E', 'hanako@demo.example'],
    ['?code=123456', ''],
  ])('begins at the address with half a link: %s', (query, email) => {
    show(`/reset/password${query}`, ResetPasswordPage)
    expect(screen.getByLabelText<HTMLInputElement>('メールアドレス').value).toBe(email)
  })

  it.each([
    ['CodeMismatchException', '確認コード', '確認コードが正しくありません'],
    ['ExpiredCodeException', '確認コード', 'コードを再送信してください'],
    ['TooManyFailedAttemptsException', '確認コード', '上限'],
    ['LimitExceededException', '確認コード', '上限'],
    ['UserNotConfirmedException', '確認コード', '招待メールの再送信'],
    ['InvalidPasswordException', '新しいパスワード', '条件'],
  ])('says what %s means, at the field %s', async (name, label, expected) => {
    server.replies.push([200, way('cognito')], refusal(name))
    show('/reset/password?email=a%40b&code=654321', ResetPasswordPage)
    await userEvent.type(screen.getByLabelText('新しいパスワード'), `${good}{Enter}`)
    await screen.findByText(new RegExp(expected))
    const field = screen.getByLabelText(label)
    expect(field.getAttribute('aria-invalid')).toBe('true')
    expect(document.activeElement).toBe(field)
    const described = (field.getAttribute('aria-describedby') ?? '').split(' ')
    expect(described.map((id) => document.getElementById(id)?.textContent).join()).toContain(expected)
  })

  it.each([
    ['', good, '確認コードを入力してください。'],
    ['12345', good, '6桁の数字で入力'],
    ['abcdef', good, '6桁の数字で入力'],
    ['123456', 'short', '条件をすべて'],
  ])('asks nobody about the code %j and the password %j', async (code, password, expected) => {
    show('/reset/password?email=a%40b&code=654321', ResetPasswordPage)
    const user = userEvent.setup()
    await user.clear(screen.getByLabelText('確認コード'))
    if (code) await user.type(screen.getByLabelText('確認コード'), code)
    await user.type(screen.getByLabelText('新しいパスワード'), `${password}{Enter}`)
    expect(screen.getByText(new RegExp(expected))).toBeTruthy()
    expect(server.server).not.toHaveBeenCalled()
  })

  it('shows the reason why no code was sent', async () => {
    server.replies.push([200, way('cognito')], refusal('LimitExceededException', 'Attempt limit exceeded'))
    show('/reset/password', ResetPasswordPage)
    await userEvent.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    expect(await screen.findByText(/試行回数が上限に達しました/)).toBeTruthy()
    expect(document.activeElement).toBe(screen.getByLabelText('メールアドレス'))
  })

  it('sends another code after a pause', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    server.replies.push([200, way('cognito')], [200, {}])
    show('/reset/password', ResetPasswordPage)
    fireEvent.change(screen.getByLabelText('メールアドレス'), { target: { value: 'a@b' } })
    fireEvent.click(screen.getByRole('button', { name: '確認コードを送信' }))
    const waiting = await screen.findByRole<HTMLButtonElement>('button', {
      name: /コードを再送信（あと\d+秒）/,
    })
    expect(waiting.disabled).toBe(true)
    await act(() => vi.advanceTimersByTimeAsync(60_000))
    server.replies.push([200, way('cognito')], [200, {}])
    fireEvent.click(screen.getByRole('button', { name: 'コードを再送信' }))
    expect(await screen.findByText(/確認コードを再送信しました/)).toBeTruthy()
    expect(screen.getByRole('button', { name: /あと\d+秒/ })).toBeTruthy()
    expect(server.operations().filter((operation) => operation === 'ForgotPassword')).toHaveLength(2)
  })

  it('explains single sign-on to members of such an organization, and lets its super-admins continue', async () => {
    server.replies.push([200, way('federated_idp')], [200, {}])
    show('/reset/password', ResetPasswordPage)
    await userEvent.type(screen.getByLabelText('メールアドレス'), 'a@b{Enter}')
    expect(await screen.findByText(/組織の認証画面で管理されています/)).toBeTruthy()
    expect(server.operations()).toEqual(['/v1/auth-type'])
    await userEvent.click(screen.getByRole('button', { name: '特権管理者のパスワードを再設定' }))
    expect(await screen.findByLabelText('確認コード')).toBeTruthy()
    expect(server.operations()).toEqual(['/v1/auth-type', 'ForgotPassword'])
  })

  it.each([
    ['hanako@demo.example', true],
    ['jiro@demo.example', false],
  ])('ends the session of this account here, and no other: %s', async (email, ended) => {
    const idToken = `e30.${btoa(JSON.stringify({ email: 'Hanako@demo.example' }))}.s`
    const rest = { refreshToken: 'r', accessToken: 'a', expiresIn: 1, tokenType: 'Bearer' }
    saveToken({ authType: 'cognito', clientId: 'c', idToken, ...rest })
    server.replies.push([200, way('cognito')], [200, {}])
    show(`/reset/password?email=${encodeURIComponent(email)}&code=654321`, ResetPasswordPage)
    await userEvent.type(screen.getByLabelText('新しいパスワード'), `${good}{Enter}`)
    await screen.findByRole('heading', { name: 'パスワードを再設定しました' })
    expect(readToken() === null).toBe(ended)
  })
})
