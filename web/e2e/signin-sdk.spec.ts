import {
  AdminCreateUserCommand,
  AdminDeleteUserCommand,
  AdminDisableUserCommand,
  AdminEnableUserCommand,
  AdminGetUserCommand,
  AdminUpdateUserAttributesCommand,
  AdminUserGlobalSignOutCommand,
  ChangePasswordCommand,
  CodeMismatchException,
  CognitoIdentityProviderClient,
  ConfirmForgotPasswordCommand,
  ExpiredCodeException,
  ForgotPasswordCommand,
  GetTokensFromRefreshTokenCommand,
  GetUserCommand,
  GlobalSignOutCommand,
  InitiateAuthCommand,
  InvalidParameterException,
  InvalidPasswordException,
  LimitExceededException,
  NotAuthorizedException,
  ResourceNotFoundException,
  RespondToAuthChallengeCommand,
  RevokeTokenCommand,
} from '@aws-sdk/client-cognito-identity-provider'
import { emails } from './support/account'
import { fact } from './support/mail'
import { type Invited, invite, newMail } from './support/people'
import { test as base, expect } from './support/test'
import { password } from './support/tsumugi'

const ClientId = 'tsumugi0web0client0000000'
const UserPoolId = 'ap-northeast-1_tsumugi00'
const chosen = 'Jibun-de-3randa'
const next = 'Momiji-2026-aki'

interface Fixtures {
  /** AWS's own client for the server under test, without retries, so that a refusal is seen unchanged. */
  readonly sdk: CognitoIdentityProviderClient
  /** A user who has never signed in. */
  readonly invited: Invited
}

const test = base.extend<Fixtures>({
  sdk: async ({ server }, use) => {
    const sdk = client(server.url)
    await use(sdk)
    sdk.destroy()
  },
  invited: async ({ server, signIn }, use) => use(await invite(server, await signIn('admin'))),
})

function client(url: string, credentials = { accessKeyId: 'AKIAWRONG', secretAccessKey: 'wrong' }) {
  return new CognitoIdentityProviderClient({
    region: 'ap-northeast-1',
    endpoint: `${url}/pool/`,
    credentials,
    maxAttempts: 1,
  })
}

const signIn = (sdk: CognitoIdentityProviderClient, USERNAME: string, PASSWORD: string) =>
  sdk.send(
    new InitiateAuthCommand({
      AuthFlow: 'USER_PASSWORD_AUTH',
      ClientId,
      AuthParameters: { USERNAME, PASSWORD },
    }),
  )

const refresh = (sdk: CognitoIdentityProviderClient, token: string | undefined) =>
  sdk.send(
    new InitiateAuthCommand({
      AuthFlow: 'REFRESH_TOKEN_AUTH',
      ClientId,
      AuthParameters: { REFRESH_TOKEN: token ?? '' },
    }),
  )

/** Signs an invited person in for the first time. */
async function begin(sdk: CognitoIdentityProviderClient, { email, temporary }: Invited) {
  const challenge = await signIn(sdk, email, temporary)
  expect(challenge.ChallengeName).toBe('NEW_PASSWORD_REQUIRED')
  const answer = (NEW_PASSWORD: string) =>
    sdk.send(
      new RespondToAuthChallengeCommand({
        ChallengeName: 'NEW_PASSWORD_REQUIRED',
        ClientId,
        Session: challenge.Session,
        ChallengeResponses: { USERNAME: email, NEW_PASSWORD },
      }),
    )
  return { challenge, answer }
}

/** Signs an invited person in for the first time, and returns the tokens. */
async function settle(sdk: CognitoIdentityProviderClient, invited: Invited) {
  const { answer } = await begin(sdk, invited)
  return (await answer(chosen)).AuthenticationResult
}

/** The class of the SDK's exception, its message, and the protocol's fields. */
async function refusal(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => 'nothing was refused',
    (cause: unknown) => cause,
  )
  expect(error).toBeInstanceOf(Error)
  return error as Error & { $fault?: string; $metadata: { httpStatusCode?: number; requestId?: string } }
}

test.describe("R34: AWS's own client for JavaScript", () => {
  test('signs in, reads the user, refreshes and revokes', async ({ sdk }) => {
    const { AuthenticationResult: tokens, ChallengeName } = await signIn(sdk, emails.user, password)
    expect(ChallengeName).toBeUndefined()
    expect(tokens).toMatchObject({ ExpiresIn: 3600, TokenType: 'Bearer' })
    const user = await sdk.send(new GetUserCommand({ AccessToken: tokens?.AccessToken }))
    expect(user.UserAttributes).toContainEqual({ Name: 'email', Value: emails.user })
    expect(user.UserAttributes).toContainEqual({ Name: 'sub', Value: user.Username })

    const again = await refresh(sdk, tokens?.RefreshToken)
    expect(Object.keys(again.AuthenticationResult ?? {}).sort()).toEqual(
      ['AccessToken', 'ExpiresIn', 'IdToken', 'TokenType'].sort(),
    )
    expect(again.AuthenticationResult?.IdToken).not.toBe(tokens?.IdToken)
    const once = new GetTokensFromRefreshTokenCommand({ ClientId, RefreshToken: tokens?.RefreshToken ?? '' })
    const { AuthenticationResult: more } = await sdk.send(once)
    expect(await sdk.send(new GetUserCommand({ AccessToken: more?.AccessToken }))).toMatchObject({
      Username: user.Username,
    })
    await sdk.send(new RevokeTokenCommand({ ClientId, Token: tokens?.RefreshToken }))
    expect(await refusal(sdk.send(once))).toBeInstanceOf(NotAuthorizedException)
    expect(await refusal(refresh(sdk, tokens?.RefreshToken))).toBeInstanceOf(NotAuthorizedException)
    expect(await refusal(sdk.send(new GetUserCommand({ AccessToken: tokens?.AccessToken })))).toBeInstanceOf(
      NotAuthorizedException,
    )
  })

  test('has its refusals typed, with the status and the id of the request', async ({ sdk }) => {
    const wrong = await refusal(signIn(sdk, emails.user, 'Wrong-Password-1'))
    expect(wrong).toBeInstanceOf(NotAuthorizedException)
    expect(wrong).toMatchObject({
      name: 'NotAuthorizedException',
      message: 'Incorrect username or password.',
      $fault: 'client',
      $metadata: { httpStatusCode: 400, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
    const unknown = await refusal(signIn(sdk, 'nobody@demo.example', password))
    expect([unknown.name, unknown.message]).toEqual([wrong.name, wrong.message])

    const client = new InitiateAuthCommand({
      AuthFlow: 'USER_PASSWORD_AUTH',
      ClientId: 'nosuchclient',
      AuthParameters: { USERNAME: emails.user, PASSWORD: password },
    })
    expect(await refusal(sdk.send(client))).toBeInstanceOf(ResourceNotFoundException)
    const flow = new InitiateAuthCommand({ AuthFlow: 'CUSTOM_AUTH', ClientId, AuthParameters: {} })
    expect(await refusal(sdk.send(flow))).toBeInstanceOf(InvalidParameterException)
  })

  test('R43: answers the challenge of a temporary password, once', async ({ sdk, invited }) => {
    const { challenge, answer } = await begin(sdk, invited)
    expect(JSON.parse(challenge.ChallengeParameters?.userAttributes ?? '')).toMatchObject({
      email: invited.email,
      name: invited.name,
    })
    expect(await refusal(answer('short'))).toBeInstanceOf(InvalidPasswordException)
    expect((await answer(chosen)).AuthenticationResult).toMatchObject({ ExpiresIn: 3600 })
    expect(await refusal(answer(next))).toBeInstanceOf(NotAuthorizedException)
    expect(await refusal(signIn(sdk, invited.email, invited.temporary))).toBeInstanceOf(
      NotAuthorizedException,
    )
  })

  test('R42, R45: resets a forgotten password with the mailed code', async ({ sdk, server, invited }) => {
    const tokens = await settle(sdk, invited)
    const { email } = invited
    const sent = await sdk.send(new ForgotPasswordCommand({ ClientId, Username: email }))
    expect(sent.CodeDeliveryDetails).toEqual({
      AttributeName: 'email',
      DeliveryMedium: 'EMAIL',
      Destination: 'p***@d***',
    })
    const code = fact(await newMail(server, email, 1), '確認コード')
    const confirm = (ConfirmationCode: string, Password: string) =>
      sdk.send(new ConfirmForgotPasswordCommand({ ClientId, Username: email, ConfirmationCode, Password }))
    const wrong = code === '111111' ? '222222' : '111111'
    expect(await refusal(confirm(wrong, next))).toBeInstanceOf(CodeMismatchException)
    expect(await refusal(confirm(code, 'short'))).toBeInstanceOf(InvalidPasswordException)
    await confirm(code, next)
    expect(await refusal(confirm(code, chosen))).toBeInstanceOf(ExpiredCodeException)
    expect(await refusal(refresh(sdk, tokens?.RefreshToken))).toBeInstanceOf(NotAuthorizedException)
    expect((await signIn(sdk, email, next)).AuthenticationResult?.IdToken).toBeTruthy()
  })

  test('R42: limits the requested codes, and does not reveal which users exist', async ({ sdk, server }) => {
    const email = `nobody-${crypto.randomUUID()}@demo.example`
    const forgot = () => sdk.send(new ForgotPasswordCommand({ ClientId, Username: email }))
    for (let sent = 0; sent < 5; sent += 1)
      expect((await forgot()).CodeDeliveryDetails?.Destination).toBe('n***@d***')
    expect(await refusal(forgot())).toBeInstanceOf(LimitExceededException)
    expect(await server.mails(email)).toEqual([])
  })

  test('changes a password, and signs out everywhere', async ({ sdk, invited }) => {
    const here = await settle(sdk, invited)
    const { AuthenticationResult: elsewhere } = await signIn(sdk, invited.email, chosen)
    const change = (PreviousPassword: string, ProposedPassword: string) =>
      sdk.send(
        new ChangePasswordCommand({ AccessToken: here?.AccessToken, PreviousPassword, ProposedPassword }),
      )
    expect(await refusal(change('Wrong-Password-1', next))).toBeInstanceOf(NotAuthorizedException)
    expect(await refusal(change(chosen, 'short'))).toBeInstanceOf(InvalidPasswordException)
    await change(chosen, next)
    expect(await refusal(refresh(sdk, elsewhere?.RefreshToken))).toBeInstanceOf(NotAuthorizedException)
    await refresh(sdk, here?.RefreshToken)

    await sdk.send(new GlobalSignOutCommand({ AccessToken: here?.AccessToken }))
    expect(await refusal(refresh(sdk, here?.RefreshToken))).toBeInstanceOf(NotAuthorizedException)
    expect(
      await refusal(sdk.send(new GlobalSignOutCommand({ AccessToken: here?.AccessToken }))),
    ).toBeInstanceOf(NotAuthorizedException)
  })

  test('is refused unknown operations', async ({ server }) => {
    const post = (headers: Record<string, string>, body = '{}') =>
      fetch(`${server.url}/pool/`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-amz-json-1.1', ...headers },
        body,
      })
    const missing = await post({})
    expect(missing.status).toBe(400)
    const unknown = await post({ 'X-Amz-Target': 'AWSCognitoIdentityProviderService.NoSuchOperation' })
    expect(unknown.status).toBe(400)
    expect(await unknown.json()).toMatchObject({ __type: 'UnknownOperationException' })
    const broken = await post({ 'X-Amz-Target': 'AWSCognitoIdentityProviderService.InitiateAuth' }, '{')
    expect(broken.status).toBe(400)
    expect(await broken.json()).toMatchObject({ __type: 'SerializationException' })
  })
})

test.describe("R46: the server's own operations", () => {
  const user = { UserPoolId, Username: emails.user }
  const commands = [
    () => new AdminGetUserCommand(user),
    () => new AdminCreateUserCommand({ UserPoolId, Username: 'mallory@demo.example' }),
    () => new AdminCreateUserCommand({ ...user, MessageAction: 'RESEND' }),
    () => new AdminDisableUserCommand(user),
    () => new AdminEnableUserCommand(user),
    () => new AdminDeleteUserCommand(user),
    () => new AdminUserGlobalSignOutCommand(user),
    () => new AdminUpdateUserAttributesCommand({ ...user, UserAttributes: [{ Name: 'name', Value: 'x' }] }),
  ]

  test("are refused for another key, and for the browser's own requests", async ({ sdk, server, signIn }) => {
    const { AuthenticationResult: tokens } = await sdk.send(
      new InitiateAuthCommand({
        AuthFlow: 'USER_PASSWORD_AUTH',
        ClientId,
        AuthParameters: { USERNAME: emails.admin, PASSWORD: password },
      }),
    )
    for (const command of commands) {
      const error = await refusal(sdk.send(command() as AdminGetUserCommand))
      expect(error.name).toBe('UnrecognizedClientException')
      expect(error.$metadata.httpStatusCode).toBe(400)
    }
    const operations = ['AdminGetUser', 'AdminCreateUser', 'AdminDisableUser', 'AdminDeleteUser']
    for (const operation of operations)
      for (const Authorization of ['', `Bearer ${tokens?.IdToken}`, `Bearer ${tokens?.AccessToken}`]) {
        const answer = await fetch(`${server.url}/pool/`, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/x-amz-json-1.1',
            'X-Amz-Target': `AWSCognitoIdentityProviderService.${operation}`,
            ...(Authorization && { Authorization }),
          },
          body: JSON.stringify(user),
        })
        expect(answer.status).toBe(400)
        expect(await answer.json()).toMatchObject({ __type: 'MissingAuthenticationTokenException' })
      }
    // Nothing has changed.
    expect((await (await signIn('user')).call('GET', '/v1/me')).status).toBe(200)
    expect(await refusal(sdk.send(new GetUserCommand({ AccessToken: 'a.b.c' })))).toBeInstanceOf(
      NotAuthorizedException,
    )
  })
})
