import { ApiError, type Arguments, call as callApi } from '@/lib/api'
import { emailOf } from '@/lib/api/jwt'
import type { RefreshedTokens, TokenRecord } from './token'

const TARGET = 'AWSCognitoIdentityProviderService'
const TOO_MANY = 'TooManyRequestsException'
/** The time limit of a call. The other tabs wait for a refresh, so it must end. */
const PATIENCE_MS = 30_000

/** An error response of the identity provider. `name` is the provider's error name. */
export class IdentityError extends Error {
  readonly status: number

  constructor(name: string, message: string, status: number) {
    super(message)
    this.name = name
    this.status = status
  }
}

/** The provider could not be reached, or its response was not in its protocol. */
export const UNREACHABLE = 'Unreachable'

/**
 * isRefusal reports whether a failed refresh ends the session. It does only if the provider itself refused it. Other
 * failures (no network, a proxy's error page, a server that is starting or overloaded) do not affect the session.
 */
export function isRefusal(cause: unknown): boolean {
  if (!(cause instanceof IdentityError || cause instanceof ApiError)) return false
  const named = cause instanceof ApiError ? cause.code !== 'unknown' : cause.name !== UNREACHABLE
  const busy = cause.name === TOO_MANY || cause.status === 408 || cause.status === 429
  return named && !busy && cause.status >= 400 && cause.status < 500
}

/** The tokens in a response of the provider; a refresh has no RefreshToken, unless the provider rotates them. */
export interface AuthenticationResult {
  IdToken: string
  AccessToken: string
  ExpiresIn: number
  TokenType: string
  RefreshToken?: string
}

/** The response to InitiateAuth and RespondToAuthChallenge: tokens, or a challenge. Null if it is neither. */
export type AuthAnswer = {
  AuthenticationResult?: AuthenticationResult
  ChallengeName?: string
  ChallengeParameters?: Record<string, string>
  Session?: string
} | null

/** The provider, as returned by POST /v1/auth-type. */
export interface Provider {
  endpoint: string
  clientId: string
}

/** Renews the tokens of a session: one by password at the pool, a federated one at the API. */
export async function renew(record: TokenRecord): Promise<RefreshedTokens> {
  if (record.authType === 'federated_idp')
    return refreshToken({ client_id: record.clientId, refresh_token: record.refreshToken })
  const answer = await call<AuthAnswer>(await endpointOf(record), 'InitiateAuth', {
    AuthFlow: 'REFRESH_TOKEN_AUTH',
    ClientId: record.clientId,
    AuthParameters: { REFRESH_TOKEN: record.refreshToken },
  })
  if (!answer?.AuthenticationResult) throw new IdentityError(UNREACHABLE, 'no tokens in the answer', 200)
  return tokensOf(answer.AuthenticationResult)
}

/** Renews a session that began with single sign-on. */
export async function refreshToken(body: Arguments<'refreshToken'>['body']): Promise<RefreshedTokens> {
  const answer = await callApi('refreshToken', { body, signal: AbortSignal.timeout(PATIENCE_MS) })
  return {
    idToken: answer.id_token,
    accessToken: answer.access_token,
    expiresIn: answer.expires_in,
    tokenType: answer.token_type,
  }
}

/** Ends the session of a password sign-in: revokes its refresh token. */
export async function revoke(record: TokenRecord): Promise<void> {
  await call(await endpointOf(record), 'RevokeToken', {
    ClientId: record.clientId,
    Token: record.refreshToken,
  })
}

/**
 * The provider of a signed-in user. It is not part of the stored record and is needed at most once an hour, so it is
 * requested again, which also notices when it changes.
 */
export async function endpointOf(record: TokenRecord): Promise<string> {
  const body = { email: emailOf(record.idToken) }
  return (await callApi('authType', { body, signal: AbortSignal.timeout(PATIENCE_MS) })).endpoint
}

/** One operation of the user pool for a signed-in user. */
export async function callFor<T>(record: TokenRecord, action: string, body: object = {}): Promise<T> {
  return call<T>(await endpointOf(record), action, { AccessToken: record.accessToken, ...body })
}

/** The tokens as they are stored. */
export function tokensOf(result: AuthenticationResult): RefreshedTokens {
  return {
    idToken: result.IdToken,
    accessToken: result.AccessToken,
    expiresIn: result.ExpiresIn,
    tokenType: result.TokenType,
    ...(result.RefreshToken && { refreshToken: result.RefreshToken }),
  }
}

/** One operation of the user pool's protocol. A response without a body is null. */
export async function call<T>(endpoint: string, action: string, body: object): Promise<T> {
  let response: Response
  try {
    response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': `${TARGET}.${action}` },
      body: JSON.stringify(body),
      cache: 'no-store',
      credentials: 'same-origin', // This server's pool recognizes the browser by its cookie; AWS's receives none.
      signal: AbortSignal.timeout(PATIENCE_MS),
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
  const unnamed = response.status === 429 ? TOO_MANY : UNREACHABLE
  const name = raw?.split('#').pop()?.split(':')[0]?.trim() || unnamed
  return new IdentityError(name, String(body.message ?? body.Message ?? ''), response.status)
}
