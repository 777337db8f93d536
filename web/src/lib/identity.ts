import { asApiError, readProblem } from './api/errors'
import type { AuthTypeAnswer } from './api/types'
import { emailOf, type RefreshedTokens, saveToken, type TokenRecord } from './token'

const TARGET = 'AWSCognitoIdentityProviderService'

/** An answer of the identity provider that refuses a call. `name` is the provider's error name. */
export class IdentityError extends Error {
  readonly status: number

  constructor(name: string, message: string, status: number) {
    super(message)
    this.name = name
    this.status = status
  }
}

/** The provider could not be reached, or answered something that is not its protocol. */
export const UNREACHABLE = 'Unreachable'

interface AuthenticationResult {
  IdToken: string
  AccessToken: string
  ExpiresIn: number
  TokenType: string
  RefreshToken?: string
}

interface AuthAnswer {
  AuthenticationResult?: AuthenticationResult
  ChallengeName?: string
  Session?: string
}

/** Who is asked, as POST /v1/auth-type tells. */
export interface Provider {
  endpoint: string
  clientId: string
}

/** What a sign-in led to: done, or a new password has to be chosen first. */
export type SignIn = { kind: 'done' } | { kind: 'new-password'; session: string }

/** Signs in with a password. When it is done the token record is stored. */
export async function signIn(provider: Provider, username: string, password: string): Promise<SignIn> {
  const answer = await call<AuthAnswer>(provider.endpoint, 'InitiateAuth', {
    AuthFlow: 'USER_PASSWORD_AUTH',
    ClientId: provider.clientId,
    AuthParameters: { USERNAME: username, PASSWORD: password },
  })
  return conclude(provider, answer)
}

/** Answers the challenge to choose a new password. When it is done the token record is stored. */
export async function chooseNewPassword(
  provider: Provider,
  username: string,
  password: string,
  session: string,
): Promise<SignIn> {
  const answer = await call<AuthAnswer>(provider.endpoint, 'RespondToAuthChallenge', {
    ChallengeName: 'NEW_PASSWORD_REQUIRED',
    ClientId: provider.clientId,
    Session: session,
    ChallengeResponses: { USERNAME: username, NEW_PASSWORD: password },
  })
  return conclude(provider, answer)
}

/** Renews the tokens of a password sign-in. */
export async function renew(record: TokenRecord): Promise<RefreshedTokens> {
  const answer = await call<AuthAnswer>(await endpointOf(record), 'InitiateAuth', {
    AuthFlow: 'REFRESH_TOKEN_AUTH',
    ClientId: record.clientId,
    AuthParameters: { REFRESH_TOKEN: record.refreshToken },
  })
  if (!answer.AuthenticationResult) throw new IdentityError(UNREACHABLE, 'no tokens in the answer', 200)
  return tokensOf(answer.AuthenticationResult)
}

/** Ends the session of a password sign-in: its refresh token renews nothing any more. */
export async function revoke(record: TokenRecord): Promise<void> {
  await call(await endpointOf(record), 'RevokeToken', {
    ClientId: record.clientId,
    Token: record.refreshToken,
  })
}

/** Changes the password of the signed-in user. */
export async function changePassword(record: TokenRecord, previous: string, proposed: string): Promise<void> {
  await call(await endpointOf(record), 'ChangePassword', {
    PreviousPassword: previous,
    ProposedPassword: proposed,
    AccessToken: record.accessToken,
  })
}

/**
 * Where the provider of a signed-in user is. The stored record has no room for it, and it is needed once an hour at
 * most, so the server is asked again, which also follows it when it moves.
 */
async function endpointOf(record: TokenRecord): Promise<string> {
  let response: Response
  try {
    response = await fetch('/v1/auth-type', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: emailOf(record.idToken) }),
    })
  } catch (cause) {
    throw asApiError(cause)
  }
  if (!response.ok) throw await readProblem(response)
  return ((await response.json()) as AuthTypeAnswer).endpoint
}

function conclude(provider: Provider, answer: AuthAnswer): SignIn {
  const result = answer.AuthenticationResult
  if (result) {
    saveToken({
      authType: 'cognito',
      clientId: provider.clientId,
      refreshToken: result.RefreshToken ?? '',
      ...tokensOf(result),
    })
    return { kind: 'done' }
  }
  if (answer.ChallengeName === 'NEW_PASSWORD_REQUIRED' && answer.Session) {
    return { kind: 'new-password', session: answer.Session }
  }
  throw new IdentityError(UNREACHABLE, `unexpected challenge ${answer.ChallengeName ?? ''}`, 200)
}

function tokensOf(result: AuthenticationResult): RefreshedTokens {
  return {
    idToken: result.IdToken,
    accessToken: result.AccessToken,
    expiresIn: result.ExpiresIn,
    tokenType: result.TokenType,
  }
}

async function call<T>(endpoint: string, action: string, body: object): Promise<T> {
  let response: Response
  try {
    response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': `${TARGET}.${action}` },
      body: JSON.stringify(body),
      cache: 'no-store',
      credentials: 'omit',
    })
  } catch (cause) {
    throw new IdentityError(UNREACHABLE, String(cause), 0)
  }
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw errorOf(response, answer)
  return answer as T
}

// The name comes in `__type`, sometimes with a namespace before a '#', or in a header with a URL after a ':'.
function errorOf(response: Response, answer: unknown): IdentityError {
  const body = (answer ?? {}) as { __type?: unknown; message?: unknown; Message?: unknown }
  const raw = typeof body.__type === 'string' ? body.__type : response.headers.get('x-amzn-ErrorType')
  const name = raw?.split('#').pop()?.split(':')[0]?.trim() || UNREACHABLE
  return new IdentityError(name, String(body.message ?? body.Message ?? ''), response.status)
}
