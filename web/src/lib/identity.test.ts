import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from './api'
import { chooseNewPassword, IdentityError, revoke, signIn } from './identity'
import { identityMessage } from './identityMessages'
import { readToken } from './token'

const provider = { endpoint: 'http://localhost:3000/pool', clientId: 'client' }
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

  afterEach(() => vi.unstubAllGlobals())

  it('signs in with a password and stores the record', async () => {
    reply(200, { AuthenticationResult: result })
    expect(await signIn(provider, 'a@b', 'pw')).toEqual({ kind: 'done' })
    expect(sent()).toEqual({
      AuthFlow: 'USER_PASSWORD_AUTH',
      ClientId: 'client',
      AuthParameters: { USERNAME: 'a@b', PASSWORD: 'pw' },
    })
    expect(readToken()).toEqual({
      authType: 'cognito',
      clientId: 'client',
      refreshToken: 'r',
      idToken: 'i',
      accessToken: 'a',
      expiresIn: 3600,
      tokenType: 'Bearer',
    })
    expect(Object.keys(localStorage)).toEqual(['tsumugiToken'])
  })

  it('goes through the new password challenge', async () => {
    reply(200, { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 's1' })
    expect(await signIn(provider, 'a@b', 'pw')).toEqual({ kind: 'new-password', session: 's1' })
    expect(readToken()).toBeNull()

    reply(200, { AuthenticationResult: result })
    expect(await chooseNewPassword(provider, 'a@b', 'Next-pw1', 's1')).toEqual({ kind: 'done' })
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
    const tokens = { idToken: 'i', accessToken: 'a', refreshToken: 'r', expiresIn: 3600, tokenType: 'Bearer' }
    await revoke({ authType: 'cognito', clientId: 'client', ...tokens })
    expect(server.mock.calls[1]?.[0]).toBe(provider.endpoint)
    expect(server.mock.calls[1]?.[1]?.headers).toMatchObject({
      'X-Amz-Target': 'AWSCognitoIdentityProviderService.RevokeToken',
    })
    expect(sent()).toEqual({ ClientId: 'client', Token: 'r' })
  })

  it('says when the provider cannot be reached', async () => {
    server.mockRejectedValueOnce(new TypeError('Failed to fetch'))
    const error = await signIn(provider, 'a@b', 'pw').catch((cause: unknown) => cause)
    expect(identityMessage(error)).toContain('接続できませんでした')
  })
})

describe('the messages', () => {
  it.each([
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
    'UnexpectedLambdaException',
    'InvalidSmsRoleTrustRelationshipException',
    'InvalidEmailRoleAccessPolicyException',
    'SomethingNew',
  ])('say in Japanese what %s means', (name) => {
    const message = identityMessage(new IdentityError(name, '', 400))
    expect(message).toMatch(/。$/)
    expect(message).not.toMatch(/[!！]/)
  })

  it('do not tell whether an address exists', () => {
    const text = (name: string) => identityMessage(new IdentityError(name, '', 400))
    expect(text('UserNotFoundException')).toBe(text('NotAuthorizedException'))
  })

  it('tell a lock-out from a wrong password', () => {
    const error = new IdentityError('NotAuthorizedException', 'Password attempts exceeded', 400)
    expect(identityMessage(error)).toContain('上限')
  })

  it("give the server's own words for its problems", () => {
    expect(identityMessage(new ApiError(400, { detail: '形式が違います。' }))).toBe('形式が違います。')
  })
})
