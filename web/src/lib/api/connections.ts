import type { Page } from './client'
import { assertRequired } from './errors'
import { signed, take } from './http'
import type {
  Connection,
  ConnectionPolicy,
  DeviceRequested,
  GrantRequested,
  PersonalToken,
  Scope,
} from './types'

/** A page of connections, and how many there are. */
export interface ConnectionList {
  readonly items: Connection[]
  readonly total: number
}

/** The parameters of an authorization request, as a client sent them. */
export interface GrantParameters {
  client_id: string
  redirect_uri: string
  response_type?: string
  scope?: string
  state?: string
  code_challenge?: string
  code_challenge_method?: string
}

/** What a client asks for; `redirect_to` alone if the client is to be told that its request is wrong. */
export async function getGrant(query: GrantParameters, signal?: AbortSignal): Promise<GrantRequested> {
  return take(signed.GET('/v1/oauth2/grant', { params: { query }, signal: signal ?? null }))
}

/** Allows or denies what a client asks for, and returns where the browser goes. */
export async function answerGrant(request: GrantParameters, allow: boolean): Promise<string> {
  return (await take(signed.POST('/v1/oauth2/grant', { body: { ...request, allow } }))).redirect_to
}

/** What the device with a user code asks for. */
export async function getDevice(userCode: string): Promise<DeviceRequested> {
  return take(signed.GET('/v1/oauth2/device', { params: { query: { user_code: userCode } } }))
}

/** Allows or denies what a device asks for. */
export async function answerDevice(userCode: string, allow: boolean): Promise<void> {
  await take(signed.PUT('/v1/oauth2/device', { body: { user_code: userCode, allow } }))
}

/** The user's own connections and personal access tokens, last used first. */
export async function listConnections(signal?: AbortSignal): Promise<Connection[]> {
  return (await take(signed.GET('/v1/connection', { signal: signal ?? null }))).items
}

/** Ends one of the user's connections. */
export async function endConnection(connectionId: string): Promise<void> {
  assertRequired('endConnection', 'connectionId', connectionId)
  await take(
    signed.DELETE('/v1/connection/{connection_id}', { params: { path: { connection_id: connectionId } } }),
  )
}

/** Creates a personal access token, which is told this once: a repeated request is refused. */
export async function createToken(
  requestId: string,
  name: string,
  scopes: Scope[],
  expiresOn: string,
): Promise<PersonalToken> {
  const body = { request_id: requestId, name, scopes, expires_on: expiresOn }
  return take(signed.POST('/v1/connection/token', { body }))
}

/** What members of the organization may connect. */
export async function getConnectionPolicy(signal?: AbortSignal): Promise<ConnectionPolicy> {
  return take(signed.GET('/v1/connection-policy', { signal: signal ?? null }))
}

/** Sets what members of the organization may connect. For its administrators. */
export async function putConnectionPolicy(policy: ConnectionPolicy): Promise<ConnectionPolicy> {
  return take(signed.PUT('/v1/connection-policy', { body: policy }))
}

/** The connections of the organization's members, last used first. For its administrators. */
export async function listOrganizationConnections(page: Page, signal?: AbortSignal): Promise<ConnectionList> {
  return take(signed.GET('/v1/organization/connection', { params: { query: page }, signal: signal ?? null }))
}

/** Ends a connection of a member. For the organization's administrators. */
export async function endOrganizationConnection(connectionId: string): Promise<void> {
  assertRequired('endOrganizationConnection', 'connectionId', connectionId)
  await take(
    signed.DELETE('/v1/organization/connection/{connection_id}', {
      params: { path: { connection_id: connectionId } },
    }),
  )
}
