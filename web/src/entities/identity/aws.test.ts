import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { IdentityError, isRefusal, renew, revoke } from './identity'
import {
  answerFactor,
  associateApp,
  type Challenge,
  chooseNewPassword,
  finishFactorSetup,
  readFactor,
  type SignIn,
  signIn,
  verifyApp,
} from './identityAccount'
import { identityMessage } from './identityMessages'
import { createPasskey, listPasskeys } from './passkey'
import type { TokenRecord } from './token'

// A server that answers as a user pool of Amazon Cognito, over HTTP. No account of AWS could be used: its answers have
// the shapes of the API reference (https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/) and the
// errors the forms of the protocol AWS JSON 1.1 (https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html), with
// members that the embedded user pool does not have.

type Answer = Record<string, unknown>
type Request = Record<string, unknown> & {
  AuthParameters?: Record<string, string>
  ChallengeResponses?: Record<string, string>
  Session?: string
}

/** A refusal of the pool. */
class Refusal extends Error {
  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

const USER = 'c4d834a8-e081-7035-2d66-8ea1f01c0e3d'
const CODE = '123456'
const CLIENT = '1example23456789'

/** The forms of an error: the name in the body, with or without namespace, or in the header only. */
const forms = {
  body: { type: (name: string) => name, header: (name: string) => `${name}:`, message: 'message' },
  namespace: { type: (name: string) => `com.amazonaws.cognitoidentityprovider#${name}`, message: 'message' },
  address: { type: (name: string) => `${name}:http://internal.amazon.com/coral/`, message: 'message' },
  header: { header: (name: string) => `${name}:http://internal.amazon.com/coral/`, message: 'Message' },
} as const

/** AwsPool is the state of the pool. */
class AwsPool {
  form: keyof typeof forms = 'body'
  /** The challenges after the password, in their order. */
  challenges: string[] = []
  password = 'Sakura-2026-haru'
  factors = '["SMS_MFA","SOFTWARE_TOKEN_MFA"]'
  private session = 0
  private verified = false

  /** Handles a request. */
  async handle(req: IncomingMessage, res: ServerResponse) {
    const cors = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'Content-Type, X-Amz-Target',
      'access-control-allow-methods': 'POST',
      'access-control-expose-headers': 'x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date',
    }
    if (req.method === 'OPTIONS') return res.writeHead(200, cors).end()
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const headers = { ...cors, 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': 'r-1' }
    try {
      const target = String(req.headers['x-amz-target'])
      if (req.headers['content-type'] !== 'application/x-amz-json-1.1' || !target.startsWith(TARGET))
        throw new Refusal('UnknownOperationException', '')
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Request
      const answer = this.answer(target.slice(TARGET.length), body)
      res.writeHead(200, headers).end(answer && JSON.stringify(answer))
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause
      const form: { type?: (n: string) => string; header?: (n: string) => string; message: string } =
        forms[this.form]
      const header = form.header && { 'x-amzn-errortype': form.header(cause.name) }
      const type = form.type && { __type: form.type(cause.name) }
      res.writeHead(400, { ...headers, ...header })
      res.end(JSON.stringify({ ...type, [form.message]: cause.message }))
    }
  }

  private answer(operation: string, body: Request): Answer | null {
    switch (operation) {
      case 'InitiateAuth':
        return this.initiate(body)
      case 'RespondToAuthChallenge':
        return this.respond(body)
      case 'AssociateSoftwareToken':
        this.checkSession(body)
        return { SecretCode: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXPJBSW', Session: this.next() }
      case 'VerifySoftwareToken':
        this.checkSession(body)
        if (body.UserCode !== CODE) throw new Refusal('EnableSoftwareTokenMFAException', 'Code mismatch')
        this.verified = true
        return { Session: this.next(), Status: 'SUCCESS' }
      case 'GetUser':
        return {
          PreferredMfaSetting: 'SOFTWARE_TOKEN_MFA',
          UserAttributes: [{ Name: 'sub', Value: USER }],
          UserMFASettingList: ['SOFTWARE_TOKEN_MFA'],
          Username: USER,
        }
      case 'StartWebAuthnRegistration':
        return { CredentialCreationOptions: creation }
      case 'CompleteWebAuthnRegistration':
        return {}
      case 'ListWebAuthnCredentials':
        return { Credentials: [description], NextToken: 'n' }
      case 'RevokeToken':
        return null // An empty body.
    }
    throw new Refusal('UnknownOperationException', '')
  }

  private initiate({ AuthFlow, ClientId, AuthParameters = {} }: Request): Answer {
    if (ClientId !== CLIENT)
      throw new Refusal('ResourceNotFoundException', `User pool client ${String(ClientId)} does not exist.`)
    if (AuthFlow === 'REFRESH_TOKEN_AUTH') {
      if (AuthParameters.REFRESH_TOKEN !== 'eyJjd123abcEXAMPLE')
        throw new Refusal('NotAuthorizedException', 'Refresh Token has been revoked')
      const { RefreshToken: _, ...tokens } = result
      return { AuthenticationResult: tokens, AvailableChallenges: [], ChallengeParameters: {} }
    }
    if (AuthParameters.USERNAME !== 'hanako@example.com' || AuthParameters.PASSWORD !== this.password)
      throw new Refusal('NotAuthorizedException', 'Incorrect username or password.')
    return this.proceed()
  }

  private respond(body: Request): Answer {
    const { ChallengeName, ChallengeResponses: responses = {} } = body
    this.checkSession(body)
    if (ChallengeName !== this.challenges[0] || responses.USERNAME !== USER)
      throw new Refusal('InvalidParameterException', 'Invalid challenge.')
    if (ChallengeName === 'NEW_PASSWORD_REQUIRED' && !responses.NEW_PASSWORD)
      throw new Refusal('InvalidParameterException', 'Missing required parameter NEW_PASSWORD')
    if (ChallengeName === 'SOFTWARE_TOKEN_MFA' && responses.SOFTWARE_TOKEN_MFA_CODE !== CODE)
      throw new Refusal('CodeMismatchException', 'Invalid code received for user')
    if (ChallengeName === 'MFA_SETUP' && !this.verified)
      throw new Refusal('InvalidParameterException', 'User has not verified software token mfa')
    this.challenges.shift()
    return this.proceed()
  }

  /** Returns the next challenge, or tokens. */
  private proceed(): Answer {
    const [name] = this.challenges
    if (!name) return { AuthenticationResult: result, ChallengeParameters: {} }
    const parameters: Record<string, Answer> = {
      SOFTWARE_TOKEN_MFA: { FRIENDLY_DEVICE_NAME: 'TestDevice' },
      SELECT_MFA_TYPE: { MFAS_CAN_CHOOSE: this.factors },
      MFA_SETUP: { MFAS_CAN_SETUP: this.factors },
      NEW_PASSWORD_REQUIRED: { requiredAttributes: '[]', userAttributes: '{"email_verified":"true"}' },
    }
    return {
      AvailableChallenges: name === 'SELECT_CHALLENGE' ? ['PASSWORD', 'WEB_AUTHN'] : [],
      ChallengeName: name,
      ChallengeParameters: { ...parameters[name], USER_ID_FOR_SRP: USER },
      Session: this.next(),
    }
  }

  private next = () => `AYABeEv5HklEXAMPLE${++this.session}`

  private checkSession({ Session }: Request) {
    if (Session !== `AYABeEv5HklEXAMPLE${this.session}`)
      throw new Refusal('NotAuthorizedException', 'Invalid session for the user.')
  }
}

const TARGET = 'AWSCognitoIdentityProviderService.'

const result = {
  AccessToken: 'eyJra456defEXAMPLE',
  ExpiresIn: 3600,
  IdToken: 'eyJra789ghiEXAMPLE',
  NewDeviceMetadata: { DeviceGroupKey: '-abcEXAMPLE', DeviceKey: 'ap-northeast-1_0a1b2c3d-4e5f-6789' },
  RefreshToken: 'eyJjd123abcEXAMPLE',
  TokenType: 'Bearer',
}

const creation = {
  authenticatorSelection: {
    requireResidentKey: true,
    residentKey: 'required',
    userVerification: 'preferred',
  },
  challenge: 'EXAMPLE',
  excludeCredentials: [{ id: 'EXAMPLE', type: 'public-key', transports: [] }],
  pubKeyCredParams: [{ alg: -7, type: 'public-key' }],
  rp: { id: 'auth.example.com', name: 'auth.example.com' },
  timeout: 60000,
  user: { displayName: 'hanako', id: 'EXAMPLE', name: 'hanako@example.com' },
}

const description = {
  AuthenticatorTransports: [],
  CreatedAt: 1736293876.115,
  CredentialId: '8LApgk4-lNUFHbhm2w6Und7-uxcc8coJGsPxiogvHoItc64xWQc3r4CEXAMPLE',
  FriendlyCredentialName: 'Roaming Passkey',
  RelyingPartyId: 'auth.example.com',
}

describe('the identity client at a user pool of AWS', () => {
  let pool: AwsPool
  let server: Server
  let provider: { endpoint: string; clientId: string }
  let record: TokenRecord

  beforeAll(async () => {
    server = createServer((req, res) => void pool.handle(req, res))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    provider = { endpoint: `http://127.0.0.1:${port}/`, clientId: CLIENT }
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  beforeEach(() => {
    pool = new AwsPool()
    record = {
      authType: 'cognito',
      clientId: CLIENT,
      refreshToken: 'eyJjd123abcEXAMPLE',
      idToken: 'eyJra789ghiEXAMPLE',
      accessToken: 'eyJra456defEXAMPLE',
      expiresIn: 3600,
      tokenType: 'Bearer',
    }
    // The API's answer to POST /v1/auth-type is the only one that does not come from the pool.
    const real = fetch
    vi.stubGlobal('fetch', (input: RequestInfo | URL, init?: RequestInit) =>
      input === provider.endpoint
        ? real(input, init)
        : Promise.resolve(Response.json({ endpoint: provider.endpoint, client_id: CLIENT })),
    )
  })

  const begin = () => signIn(provider, 'hanako@example.com', pool.password)
  const refused = (call: Promise<unknown>) => call.then(String, (cause: unknown) => cause as IdentityError)
  const challengeOf = (answer: SignIn) => {
    if (answer.kind === 'done') throw new Error('no challenge')
    return answer satisfies Challenge
  }

  it('signs in with the code of the app, and ignores a new device', async () => {
    pool.challenges = ['SOFTWARE_TOKEN_MFA']
    const challenge = challengeOf(await begin())
    expect(challenge).toEqual({
      kind: 'factor',
      session: 'AYABeEv5HklEXAMPLE1',
      username: USER,
      recovery: false,
    })
    expect(await refused(answerFactor(provider, '000000', false, challenge))).toMatchObject({
      name: 'CodeMismatchException',
    })
    expect(await answerFactor(provider, CODE, false, challenge)).toEqual({ kind: 'done', record })
  })

  it('chooses the app among several factors', async () => {
    pool.challenges = ['SELECT_MFA_TYPE', 'SOFTWARE_TOKEN_MFA']
    expect(await answerFactor(provider, CODE, true, challengeOf(await begin()))).toEqual({
      kind: 'done',
      record,
    })
  })

  it('replaces the temporary password and sets up the app', async () => {
    pool.challenges = ['NEW_PASSWORD_REQUIRED', 'MFA_SETUP']
    const challenge = challengeOf(await chooseNewPassword(provider, 'Next-pw1', challengeOf(await begin())))
    expect(challenge.kind).toBe('factor-setup')
    const { secret, holder } = await associateApp(provider.endpoint, { Session: challenge.session })
    expect(secret).toMatch(/^[A-Z2-7]{52}$/)
    expect(await refused(verifyApp(provider.endpoint, holder, '000000'))).toMatchObject({
      name: 'EnableSoftwareTokenMFAException',
    })
    const session = await verifyApp(provider.endpoint, holder, CODE)
    expect(await finishFactorSetup(provider, { ...challenge, session })).toEqual({ kind: 'done', record })
  })

  it.each([
    'SELECT_CHALLENGE',
    'DEVICE_SRP_AUTH',
    'SMS_MFA',
    'EMAIL_OTP',
    'CUSTOM_CHALLENGE',
    'PASSWORD_VERIFIER',
  ])('refuses a challenge that it does not support: %s', async (name) => {
    pool.challenges = [name]
    expect(identityMessage(await refused(begin()))).toContain('この画面で使えない認証方法')
  })

  it.each(Object.keys(forms) as Array<keyof typeof forms>)('reads an error: %s', async (form) => {
    pool.form = form
    const cause = await refused(signIn(provider, 'hanako@example.com', 'wrong'))
    expect(cause).toBeInstanceOf(IdentityError)
    expect(cause).toMatchObject({
      name: 'NotAuthorizedException',
      message: 'Incorrect username or password.',
      status: 400,
    })
  })

  it('renews the tokens and ends the session', async () => {
    expect(await renew(record)).toEqual({
      idToken: record.idToken,
      accessToken: record.accessToken,
      expiresIn: 3600,
      tokenType: 'Bearer',
    })
    expect(await revoke(record)).toBeUndefined()
    expect(isRefusal(await refused(renew({ ...record, refreshToken: 'old' })))).toBe(true)
  })

  it('does not take the settings of AWS for its own', async () => {
    expect(await readFactor(record)).toBeNull()
  })

  it('reads passkeys and creates one', async () => {
    expect(await listPasskeys(record)).toEqual([
      { id: description.CredentialId, name: 'Roaming Passkey', createdAt: '2025-01-07T23:51:16.115Z' },
    ])
    const parse = vi.fn(() => ({}))
    vi.stubGlobal('PublicKeyCredential', { parseCreationOptionsFromJSON: parse })
    vi.stubGlobal('navigator', {
      credentials: { create: async () => ({ id: 'EXAMPLE', type: 'public-key' }) },
    })
    const holder = { AccessToken: record.accessToken, TsumugiPassword: pool.password }
    expect(await createPasskey(provider.endpoint, holder, 'Phone')).toBe('')
    expect(parse).toHaveBeenCalledWith(creation)
  })
})

/** The errors that the API reference lists for InitiateAuth, RespondToAuthChallenge, Associate- and VerifySoftwareToken. */
const documented = [
  'AliasExistsException',
  'CodeMismatchException',
  'ConcurrentModificationException',
  'EnableSoftwareTokenMFAException',
  'ExpiredCodeException',
  'ForbiddenException',
  'InvalidEmailRoleAccessPolicyException',
  'InvalidLambdaResponseException',
  'InvalidParameterException',
  'InvalidPasswordException',
  'InvalidSmsRoleAccessPolicyException',
  'InvalidSmsRoleTrustRelationshipException',
  'InvalidUserPoolConfigurationException',
  'MFAMethodNotFoundException',
  'NotAuthorizedException',
  'PasswordHistoryPolicyViolationException',
  'PasswordResetRequiredException',
  'ResourceNotFoundException',
  'SoftwareTokenMFANotFoundException',
  'TooManyRequestsException',
  'UnexpectedLambdaException',
  'UnsupportedOperationException',
  'UserLambdaValidationException',
  'UserNotConfirmedException',
  'UserNotFoundException',
]

describe('the errors of a sign-in with a second factor', () => {
  const text = (name: string) => identityMessage(new IdentityError(name, 'words', 400), 'factor')

  it.each(documented)('has a message for %s', (name) => {
    expect(text(name)).not.toBe(text('InternalErrorException'))
    expect(text(name)).toMatch(/(ください|正しくありません)。$/)
  })
})
