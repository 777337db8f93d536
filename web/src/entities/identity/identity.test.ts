import { beforeEach, describe, expect, it, vi } from 'vitest'
import { readToken, type TokenRecord } from '@/entities/identity/token'
import { ApiError } from '@/lib/api'
import { IdentityError, revoke } from './identity'
import {
  changePassword,
  chooseNewPassword,
  confirmForgotPassword,
  forgotPassword,
  signIn,
} from './identityAccount'
import { identityMessage, isAboutNewPassword, isChallengeOver, type Purpose } from './identityMessages'

const provider = { endpoint: 'http://localhost:3000/pool', clientId: 'client' }
const record: TokenRecord = {
  authType: 'cognito',
  clientId: 'client',
  refreshToken: 'r',
  idToken: 'i',
  accessToken: 'a',
  expiresIn: 3600,
  tokenType: 'Bearer',
}
const result = { IdToken: 'i', AccessToken: 'a', ExpiresIn: 3600, TokenType: 'Bearer', RefreshToken: 'r' }

describe('the identity client', () => {
  const server = vi.fn<typeof fetch>()
  const reply = (status: number, body: unknown, headers: HeadersInit = {}) =>
    server.mockResolvedValueOnce(new Response(JSON.stringify(body), { status, headers }))
  const sent = () => JSON.parse(String(server.mock.calls.at(-1)?.[1]?.body)) as unknown

  beforeEach(() => {
    localStorage.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
  })

  it('signs in with a password without storing the session', async () => {
    reply(200, { AuthenticationResult: result })
    expect(await signIn(provider, 'a@b', 'pw')).toEqual({ kind: 'done', record })
    expect(sent()).toEqual({
      AuthFlow: 'USER_PASSWORD_AUTH',
      ClientId: 'client',
      AuthParameters: { USERNAME: 'a@b', PASSWORD: 'pw' },
    })
    expect(readToken()).toBeNull()
  })

  it('completes the new password challenge', async () => {
    reply(200, { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 's1' })
    expect(await signIn(provider, 'a@b', 'pw')).toEqual({
      kind: 'new-password',
      session: 's1',
      username: 'a@b',
      recovery: false,
    })
    expect(readToken()).toBeNull()

    reply(200, { AuthenticationResult: result })
    const challenge = { kind: 'new-password', session: 's1', username: 'a@b', recovery: false } as const
    expect(await chooseNewPassword(provider, 'Next-pw1', challenge)).toEqual({ kind: 'done', record })
    expect(sent()).toEqual({
      ChallengeName: 'NEW_PASSWORD_REQUIRED',
      ClientId: 'client',
      Session: 's1',
      ChallengeResponses: { USERNAME: 'a@b', NEW_PASSWORD: 'Next-pw1' },
    })
  })

  it.each([
    ['the body', { __type: 'NotAuthorizedException', message: 'no' }, {}],
    ['a namespace', { __type: 'com.amazonaws#NotAuthorizedException', message: 'no' }, {}],
    ['the header', { message: 'no' }, { 'x-amzn-ErrorType': 'NotAuthorizedException:http://x/' }],
  ])('reads the error name from %s', async (_, body, headers) => {
    reply(400, body, headers)
    const error = await signIn(provider, 'a@b', 'pw').catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(IdentityError)
    expect(error).toMatchObject({ name: 'NotAuthorizedException', message: 'no', status: 400 })
  })

  it('revokes the refresh token of a session', async () => {
    reply(200, { endpoint: provider.endpoint })
    reply(200, {})
    await revoke(record)
    expect(server.mock.calls[1]?.[0]).toBe(provider.endpoint)
    expect(server.mock.calls[1]?.[1]?.headers).toMatchObject({
      'X-Amz-Target': 'AWSCognitoIdentityProviderService.RevokeToken',
    })
    expect(sent()).toEqual({ ClientId: 'client', Token: 'r' })
  })

  it('requests a code and sets a password with it', async () => {
    // Cognito answers some operations with an empty body.
    reply(200, { CodeDeliveryDetails: { Destination: 'a***@b***' } })
    await forgotPassword(provider, 'a@b')
    expect(sent()).toEqual({ ClientId: 'client', Username: 'a@b' })
    server.mockResolvedValueOnce(new Response(''))
    await confirmForgotPassword(provider, 'a@b', '123456', 'Next-pw1')
    expect(sent()).toEqual({
      ClientId: 'client',
      Username: 'a@b',
      ConfirmationCode: '123456',
      Password: 'Next-pw1',
    })
  })

  it('changes the password of a session', async () => {
    reply(200, { endpoint: provider.endpoint })
    server.mockResolvedValueOnce(new Response(''))
    await changePassword(record, 'old', 'new')
    expect(sent()).toEqual({ PreviousPassword: 'old', ProposedPassword: 'new', AccessToken: 'a' })
  })

  it('reports a rate limit of an intermediary as a rate limit', async () => {
    server.mockResolvedValueOnce(new Response('slow down', { status: 429 }))
    await expect(signIn(provider, 'a@b', 'pw')).rejects.toMatchObject({ name: 'TooManyRequestsException' })
  })

  it.each([
    ['no network', () => server.mockRejectedValueOnce(new TypeError('Failed to fetch'))],
    ["a proxy's page", () => server.mockResolvedValueOnce(new Response('<h1>502</h1>', { status: 502 }))],
    ["a hotel's page", () => server.mockResolvedValueOnce(new Response('<h1>Welcome</h1>'))],
  ])('reports that the provider is unreachable: %s', async (_, happen) => {
    happen()
    const error = await signIn(provider, 'a@b', 'pw').catch((cause: unknown) => cause)
    expect(identityMessage(error)).toContain('接続できませんでした')
  })
})

/**
 * The errors in section 8 of the specification, and the lambda, SMS and email configuration errors that it mentions by
 * category.
 */
const catalogue = [
  'NotAuthorizedException',
  'UserNotFoundException',
  'InvalidParameterException',
  'InvalidPasswordException',
  'LimitExceededException',
  'TooManyRequestsException',
  'TooManyFailedAttemptsException',
  'CodeMismatchException',
  'ExpiredCodeException',
  'UserNotConfirmedException',
  'PasswordResetRequiredException',
  'CodeDeliveryFailureException',
  'ResourceNotFoundException',
  'ForbiddenException',
  'InternalErrorException',
  'InvalidLambdaResponseException',
  'UnexpectedLambdaException',
  'UserLambdaValidationException',
  'InvalidSmsRoleAccessPolicyException',
  'InvalidSmsRoleTrustRelationshipException',
  'InvalidEmailRoleAccessPolicyException',
]
const purposes: Purpose[] = ['sign-in', 'new-password', 'send-code', 'confirm-code', 'change-password']

describe('the catalogue of errors', () => {
  const text = (name: string, purpose?: Purpose, said = '') =>
    identityMessage(new IdentityError(name, said, 400), purpose)
  const unknown = text('SomethingNew')

  it.each(catalogue)('has a Japanese message with the meaning of %s and the next step', (name) => {
    for (const purpose of purposes) {
      const message = text(name, purpose, 'English words of the provider.')
      expect(message).toMatch(/。$/)
      expect(message).not.toMatch(/[!！]|Exception|English/)
      expect(message.length).toBeLessThan(80)
      if (name !== 'InternalErrorException') expect(message, purpose).not.toBe(unknown)
      // Each message contains the next step or the name of the field.
      expect(message).toMatch(/ください|正しくありません/)
    }
  })

  it('has a message for an unknown error', () => {
    expect(unknown).toBe('サーバーで問題が発生しました。時間をおいて、もう一度お試しください。')
    expect(identityMessage(new TypeError('a bug'))).toBe(unknown)
  })

  it('does not reveal whether an address exists', () => {
    expect(text('UserNotFoundException')).toBe(text('NotAuthorizedException'))
    expect(text('UserNotFoundException', 'confirm-code')).toBe(text('ExpiredCodeException', 'confirm-code'))
  })

  it.each([
    ['Password attempts exceeded', '上限'],
    ['User is disabled.', '一時停止'],
    ['Temporary password has expired and must be reset by an administrator.', '招待メールの再送信'],
    ['Invalid session for the user, session is expired.', '最初から'],
    ['Access Token has been revoked', 'ログインし直して'],
  ])('distinguishes refusals by their message: %s', (said, expected) => {
    for (const purpose of purposes) expect(text('NotAuthorizedException', purpose, said)).toContain(expected)
  })

  it('reports problems of a password beyond the displayed rules', () => {
    const policy = (lacks: string) =>
      text('InvalidPasswordException', 'new-password', `Password does not conform to policy: ${lacks}`)
    expect(policy('Password must not have leading or trailing spaces')).toContain('空白')
    expect(policy('Password too long')).toContain('256文字')
    expect(policy('Password must have symbol characters')).toContain('条件')
  })

  it('gives one error different meanings depending on the operation', () => {
    expect(text('NotAuthorizedException', 'change-password')).toContain('現在のパスワード')
    expect(text('NotAuthorizedException', 'send-code')).toContain('再設定できません')
  })

  it('distinguishes errors of two fields', () => {
    const named = (name: string) => isAboutNewPassword(new IdentityError(name, '', 400))
    expect(named('InvalidPasswordException')).toBe(true)
    expect(named('PasswordHistoryPolicyViolationException')).toBe(true)
    expect(catalogue.filter(named)).toEqual(['InvalidPasswordException'])
  })

  it('recognizes an expired challenge', () => {
    const said = (message: string) =>
      isChallengeOver(new IdentityError('NotAuthorizedException', message, 400))
    expect(said('Invalid session for the user.')).toBe(true)
    expect(said('Invalid session for the user, session is expired.')).toBe(true)
    expect(said('Incorrect username or password.')).toBe(false)
  })

  it("shows the server's own messages for its problems", () => {
    expect(identityMessage(new ApiError(400, { detail: '形式が違います。' }))).toBe('形式が違います。')
    expect(identityMessage(new ApiError(0, {}))).toContain('接続できませんでした')
  })
})
