import { call as callApi } from '@/lib/api'
import {
  type AuthAnswer,
  call,
  callFor,
  IdentityError,
  type Provider,
  tokensOf,
  UNREACHABLE,
} from './identity'
import type { TokenRecord } from './token'

// The user pool's operations for the pages of sign-in and settings only; other pages do not load them.

/**
 * What the provider asks for after the password: a new password in place of the temporary one, the code of the second
 * factor, a passkey, or to set up a second factor. `recovery` means that it accepts recovery codes.
 */
export interface Challenge {
  kind: 'new-password' | 'factor' | 'passkey' | 'factor-setup'
  session: string
  /** The provider's name of the user, which answers must use in place of the address. */
  username: string
  recovery: boolean
  /** The options of a passkey's signature, in JSON. */
  options?: string
  /** Whether a passkey can be set up as the second factor. */
  passkey?: boolean
}

/** The result of a sign-in: a session, which the caller stores, or a challenge. */
export type SignIn = { kind: 'done'; record: TokenRecord } | Challenge

const challenges: Readonly<Record<string, Challenge['kind']>> = {
  NEW_PASSWORD_REQUIRED: 'new-password',
  SOFTWARE_TOKEN_MFA: 'factor',
  WEB_AUTHN: 'passkey',
  MFA_SETUP: 'factor-setup',
}

/** Signs in with a password. */
export async function signIn(
  provider: Provider,
  username: string,
  password: string,
  { askFactor = false } = {},
): Promise<SignIn> {
  const metadata = askFactor ? { ClientMetadata: { TSUMUGI_ASK_FACTOR: 'true' } } : {}
  return conclude(provider, username, await sendPassword(provider, username, password, metadata))
}

function sendPassword(
  { endpoint, clientId }: Provider,
  username: string,
  password: string,
  more: object = {},
): Promise<AuthAnswer> {
  const parameters = { USERNAME: username, PASSWORD: password }
  const body = { AuthFlow: 'USER_PASSWORD_AUTH', ClientId: clientId, AuthParameters: parameters, ...more }
  return call<AuthAnswer>(endpoint, 'InitiateAuth', body)
}

/** Answers the challenge to choose a new password. */
export async function chooseNewPassword(
  provider: Provider,
  password: string,
  challenge: Challenge,
): Promise<SignIn> {
  return respond(provider, 'NEW_PASSWORD_REQUIRED', challenge, { NEW_PASSWORD: password })
}

/** Answers the challenge for the second factor with a code of the app. `trust` trusts this browser from now on. */
export async function answerFactor(
  provider: Provider,
  code: string,
  trust: boolean,
  challenge: Challenge,
): Promise<SignIn> {
  return respond(provider, 'SOFTWARE_TOKEN_MFA', challenge, {
    SOFTWARE_TOKEN_MFA_CODE: code,
    ...(trust && { TSUMUGI_TRUST_DEVICE: 'true' }),
  })
}

/** Answers the challenge for the second factor or a passkey with a recovery code. */
export async function answerRecovery(
  provider: Provider,
  code: string,
  challenge: Challenge,
): Promise<SignIn> {
  const name = challenge.kind === 'passkey' ? 'WEB_AUTHN' : 'SOFTWARE_TOKEN_MFA'
  return respond(provider, name, challenge, { TSUMUGI_RECOVERY_CODE: code })
}

/** Signs in after verifyApp or createPasskey has set up the second factor. */
export async function finishFactorSetup(provider: Provider, challenge: Challenge): Promise<SignIn> {
  return respond(provider, 'MFA_SETUP', challenge, {})
}

/** Who sets up a second factor: a signed-in user, or one who answers a challenge. */
export type FactorHolder = { AccessToken: string; TsumugiPassword: string } | { Session: string }

/** Requests the secret of a new authenticator app. Some providers replace the session of the challenge. */
export async function associateApp(
  endpoint: string,
  holder: FactorHolder,
): Promise<{ secret: string; holder: FactorHolder }> {
  const answer = await call<{ SecretCode: string; Session?: string }>(
    endpoint,
    'AssociateSoftwareToken',
    holder,
  )
  return { secret: answer.SecretCode, holder: answer.Session ? { Session: answer.Session } : holder }
}

/** Verifies the first code of the app. Returns the session that ends the challenge, or ''. */
export async function verifyApp(endpoint: string, holder: FactorHolder, code: string): Promise<string> {
  const answer = await call<{ Status: string; Session?: string }>(endpoint, 'VerifySoftwareToken', {
    ...holder,
    UserCode: code,
  })
  if (answer.Status !== 'SUCCESS') throw new IdentityError('EnableSoftwareTokenMFAException', '', 200)
  return answer.Session ?? ''
}

/** The second factor of the signed-in user. */
export interface Factor {
  enabled: boolean
  /** Whether the organization requires one. */
  required: boolean
  /** The number of unused recovery codes. */
  recoveryCodes: number
  /** The number of passkeys. */
  passkeys: number
}

/** Reads the second factor. Null with a pool of AWS, where the settings do not support it. */
export async function readFactor(record: TokenRecord): Promise<Factor | null> {
  const answer = await callFor<{
    UserMFASettingList?: string[]
    Tsumugi?: { RecoveryCodes: number; FactorRequired: boolean; Passkeys: number }
  }>(record, 'GetUser')
  if (!answer.Tsumugi) return null
  return {
    enabled: (answer.UserMFASettingList ?? []).length > 0,
    required: answer.Tsumugi.FactorRequired,
    recoveryCodes: answer.Tsumugi.RecoveryCodes,
    passkeys: answer.Tsumugi.Passkeys,
  }
}

/** Requires the verified app at sign-ins, or removes it with the recovery codes. Needs the user's password. */
export async function setFactor(record: TokenRecord, password: string, enabled: boolean): Promise<void> {
  await callFor(record, 'SetUserMFAPreference', {
    TsumugiPassword: password,
    SoftwareTokenMfaSettings: { Enabled: enabled, PreferredMfa: enabled },
  })
}

/** Checks the password of the signed-in user. */
export async function confirmPassword(email: string, password: string): Promise<void> {
  const { endpoint, client_id } = await callApi('authType', { body: { email } })
  await sendPassword({ endpoint, clientId: client_id }, email, password)
}

/** Replaces the recovery codes. Needs the user's password, unless the session has just begun. */
export async function createRecoveryCodes(record: TokenRecord, password?: string): Promise<string[]> {
  const body = { TsumugiPassword: password }
  return (await callFor<{ RecoveryCodes: string[] }>(record, 'TsumugiCreateRecoveryCodes', body))
    .RecoveryCodes
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
  await callFor(record, 'ChangePassword', { PreviousPassword: previous, ProposedPassword: proposed })
}

/** Answers a challenge. A passkey names its user, so that there may be no user name. */
export async function respond(
  provider: Provider,
  name: string,
  { session, username }: Pick<Challenge, 'session' | 'username'>,
  responses: Record<string, string>,
): Promise<SignIn> {
  const answer = await call<AuthAnswer>(provider.endpoint, 'RespondToAuthChallenge', {
    ChallengeName: name,
    ClientId: provider.clientId,
    Session: session,
    ChallengeResponses: { ...(username && { USERNAME: username }), ...responses },
  })
  return conclude(provider, username, answer)
}

/**
 * Reads the response to an answer or the begin of a sign-in. If the user has several second factors, it chooses the
 * authenticator app, the only one of them that the app supports.
 */
export async function conclude(provider: Provider, given: string, answer: AuthAnswer): Promise<SignIn> {
  if (answer?.AuthenticationResult) {
    const tokens = tokensOf(answer.AuthenticationResult)
    return {
      kind: 'done',
      record: { authType: 'cognito', clientId: provider.clientId, refreshToken: '', ...tokens },
    }
  }
  if (!answer?.ChallengeName || !answer.Session) throw new IdentityError(UNREACHABLE, 'no tokens', 200)
  const { ChallengeName: name, Session: session, ChallengeParameters: parameters = {} } = answer
  const { USER_ID_FOR_SRP: username = given, CREDENTIAL_REQUEST_OPTIONS: options } = parameters
  const factors = readList(parameters.MFAS_CAN_CHOOSE ?? parameters.MFAS_CAN_SETUP)
  if (name === 'SELECT_MFA_TYPE' && factors.includes(APP))
    return respond(provider, name, { session, username }, { ANSWER: APP })
  const kind = challenges[name]
  if (!kind || (kind === 'factor-setup' && !factors.includes(APP)))
    throw new IdentityError('UnsupportedChallenge', name, 200)
  return {
    kind,
    session,
    username,
    recovery: parameters.TSUMUGI_RECOVERY === 'true',
    ...(options && { options }),
    ...(factors.includes('WEB_AUTHN') && { passkey: true }),
  }
}

/** The provider's name of the authenticator app. */
const APP = 'SOFTWARE_TOKEN_MFA'

/** Reads a list of factors, which the provider writes in JSON. */
function readList(text = '[]'): string[] {
  return JSON.parse(text) as string[]
}
