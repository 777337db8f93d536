import { type AuthAnswer, call, callFor, type Provider } from './identity'
import { type Challenge, conclude, type FactorHolder, respond, type SignIn } from './identityAccount'
import type { TokenRecord } from './token'

// Passkeys (WebAuthn) of the embedded user pool.

/** The maximum number of passkeys of a user. */
export const MAX_PASSKEYS = 10

/** The maximum length of a passkey's name, in characters. */
export const MAX_PASSKEY_NAME = 50

/** A passkey of the signed-in user. */
export interface Passkey {
  id: string
  name: string
  /** In RFC 3339. */
  createdAt: string
  lastUsedAt?: string
}

/** Begins a sign-in with a passkey, which names its user. */
export async function beginPasskey(provider: Provider): Promise<SignIn> {
  const answer = await call<AuthAnswer>(provider.endpoint, 'InitiateAuth', {
    AuthFlow: 'USER_AUTH',
    ClientId: provider.clientId,
    AuthParameters: { PREFERRED_CHALLENGE: 'WEB_AUTHN' },
  })
  return conclude(provider, '', answer)
}

/**
 * Answers the challenge of a passkey: the browser asks the user for one. If the challenge names a user, it must be that
 * user's. With `autofill`, the browser offers the passkeys in the suggestions of the address field
 * instead, until the signal aborts.
 */
export async function answerPasskey(
  provider: Provider,
  challenge: Challenge,
  autofill?: AbortSignal,
): Promise<SignIn> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(challenge.options ?? ''))
  const credential = await navigator.credentials.get({
    publicKey,
    ...(autofill && { mediation: 'conditional', signal: autofill }),
  })
  return respond(provider, 'WEB_AUTHN', challenge, { CREDENTIAL: JSON.stringify(credential) })
}

/** Lists the passkeys. */
export async function listPasskeys(record: TokenRecord): Promise<Passkey[]> {
  const { Credentials } = await callFor<{ Credentials: Description[] }>(record, 'ListWebAuthnCredentials')
  return Credentials.map((one) => ({
    id: one.CredentialId,
    name: one.FriendlyCredentialName,
    createdAt: timeOf(one.CreatedAt),
    ...(one.TsumugiLastUsedAt && { lastUsedAt: timeOf(one.TsumugiLastUsedAt) }),
  }))
}

interface Description {
  CredentialId: string
  FriendlyCredentialName: string
  /** In seconds since 1970. */
  CreatedAt: number
  TsumugiLastUsedAt?: number
}

const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString()

/**
 * Creates a passkey: the browser asks the user where to store it. Returns the session that ends the challenge, or ''.
 * Without a name, the server gives one.
 */
export async function createPasskey(endpoint: string, holder: FactorHolder, name?: string): Promise<string> {
  const { CredentialCreationOptions } = await call<{
    CredentialCreationOptions: PublicKeyCredentialCreationOptionsJSON
  }>(endpoint, 'StartWebAuthnRegistration', holder)
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(CredentialCreationOptions)
  const credential = await navigator.credentials.create({ publicKey })
  const answer = await call<{ Session?: string }>(endpoint, 'CompleteWebAuthnRegistration', {
    ...('Session' in holder ? holder : { AccessToken: holder.AccessToken }),
    TsumugiName: name,
    Credential: credential,
  })
  return answer.Session ?? ''
}

/** Changes the name of a passkey. */
export async function renamePasskey(record: TokenRecord, id: string, name: string): Promise<void> {
  await callFor(record, 'TsumugiRenameWebAuthnCredential', { CredentialId: id, TsumugiName: name })
}

/** Deletes a passkey. Needs the user's password. */
export async function deletePasskey(record: TokenRecord, password: string, id: string): Promise<void> {
  await callFor(record, 'DeleteWebAuthnCredential', { TsumugiPassword: password, CredentialId: id })
}

/** A browser where sign-ins of the user skip the second factor. */
export interface TrustedDevice {
  key: string
  name: string
  /** In RFC 3339. */
  trustedAt: string
}

/** Lists the trusted devices. */
export async function listTrustedDevices(record: TokenRecord): Promise<TrustedDevice[]> {
  const { Devices } = await callFor<{
    Devices: { DeviceKey: string; DeviceCreateDate: number; DeviceAttributes: { Value: string }[] }[]
  }>(record, 'ListDevices')
  return Devices.map((one) => ({
    key: one.DeviceKey,
    name: one.DeviceAttributes[0]?.Value ?? '',
    trustedAt: timeOf(one.DeviceCreateDate),
  }))
}

/** Ends the trust in a device. */
export async function forgetDevice(record: TokenRecord, key: string): Promise<void> {
  await callFor(record, 'ForgetDevice', { DeviceKey: key })
}
