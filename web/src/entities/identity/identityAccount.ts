import {
  type AuthAnswer,
  call,
  endpointOf,
  IdentityError,
  type Provider,
  tokensOf,
  UNREACHABLE,
} from './identity'
import type { TokenRecord } from './token'

// The user pool's operations for the pages of sign-in and settings only; other pages do not load them.

/** The result of a sign-in: a session, which the caller stores, or the challenge to choose a new password. */
export type SignIn = { kind: 'done'; record: TokenRecord } | { kind: 'new-password'; session: string }

/** Signs in with a password. */
export async function signIn(provider: Provider, username: string, password: string): Promise<SignIn> {
  const answer = await call<AuthAnswer>(provider.endpoint, 'InitiateAuth', {
    AuthFlow: 'USER_PASSWORD_AUTH',
    ClientId: provider.clientId,
    AuthParameters: { USERNAME: username, PASSWORD: password },
  })
  return conclude(provider, answer)
}

/** Answers the challenge to choose a new password. */
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

/** Requests a code for the address, which is sent if the address is known. */
export async function forgotPassword(provider: Provider, username: string): Promise<void> {
  await call(provider.endpoint, 'ForgotPassword', { ClientId: provider.clientId, Username: username })
}

/** Sets a new password with the code from the mail. */
export async function confirmForgotPassword(
  provider: Provider,
  username: string,
  code: string,
  password: string,
): Promise<void> {
  await call(provider.endpoint, 'ConfirmForgotPassword', {
    ClientId: provider.clientId,
    Username: username,
    ConfirmationCode: code,
    Password: password,
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

function conclude(provider: Provider, answer: AuthAnswer): SignIn {
  if (answer?.AuthenticationResult) {
    const tokens = tokensOf(answer.AuthenticationResult)
    return {
      kind: 'done',
      record: { authType: 'cognito', clientId: provider.clientId, refreshToken: '', ...tokens },
    }
  }
  if (answer?.ChallengeName === 'NEW_PASSWORD_REQUIRED' && answer.Session) {
    return { kind: 'new-password', session: answer.Session }
  }
  throw new IdentityError(UNREACHABLE, `unexpected challenge ${answer?.ChallengeName ?? ''}`, 200)
}
