import type { Page } from './client'
import { signed, take } from './http'
import type {
  Connection,
  ConnectionPolicy,
  DeviceRequested,
  GrantRequested,
  PersonalToken,
  Scope,
} from './types'

/** ConnectionList is a page of connections, and their total number. */
export interface ConnectionList {
  readonly items: Connection[]
  readonly total: number
}

/** GrantParameters are the parameters of an authorization request, as sent by a client. */
export interface GrantParameters {
  client_id: string
  redirect_uri: string
  response_type?: string
  scope?: string
  state?: string
  code_challenge?: string
  code_challenge_method?: string
}

/**
 * The scopes and the client of an authorization request; only `redirect_to` if the request is invalid and the browser
 * must report that to the client.
 */
export async function getGrant(query: GrantParameters, signal?: AbortSignal): Promise<GrantRequested> {
  return take(signed.GET('/v1/oauth2/grant', { params: { query }, signal: signal ?? null }))
}

/** Allows or denies an authorization request, and returns the next URL for the browser. */
export async function answerGrant(request: GrantParameters, allow: boolean): Promise<string> {
  return (await take(signed.POST('/v1/oauth2/grant', { body: { ...request, allow } }))).redirect_to
}

/** The request of the device with a user code. */
export async function getDevice(userCode: string): Promise<DeviceRequested> {
  return take(signed.GET('/v1/oauth2/device', { params: { query: { user_code: userCode } } }))
}

/** Allows or denies the request of a device. */
export async function answerDevice(userCode: string, allow: boolean): Promise<void> {
  await take(signed.PUT('/v1/oauth2/device', { body: { user_code: userCode, allow } }))
}

/** The user's own connections and personal access tokens, last used first. */
export async function listConnections(signal?: AbortSignal): Promise<Connection[]> {
  return (await take(signed.GET('/v1/connection', { signal: signal ?? null }))).items
}

/** Ends one of the user's connections. */
export async function endConnection(connectionId: string): Promise<void> {
  await take(
    signed.DELETE('/v1/connection/{connection_id}', { params: { path: { connection_id: connectionId } } }),
  )
}

/** Creates a personal access token. The API returns the token only once and refuses a repeated request. */
export async function createToken(
  requestId: string,
  name: string,
  scopes: Scope[],
  expiresOn: string,
): Promise<PersonalToken> {
  const body = { request_id: requestId, name, scopes, expires_on: expiresOn }
  return take(signed.POST('/v1/connection/token', { body }))
}

/** Whether members of the organization may connect programs. */
export async function getConnectionPolicy(signal?: AbortSignal): Promise<ConnectionPolicy> {
  return take(signed.GET('/v1/connection-policy', { signal: signal ?? null }))
}

/** Sets whether members of the organization may connect programs. For its administrators. */
export async function putConnectionPolicy(policy: ConnectionPolicy): Promise<ConnectionPolicy> {
  return take(signed.PUT('/v1/connection-policy', { body: policy }))
}

/** The connections of the organization's members, last used first. For its administrators. */
export async function listOrganizationConnections(page: Page, signal?: AbortSignal): Promise<ConnectionList> {
  return take(signed.GET('/v1/organization/connection', { params: { query: page }, signal: signal ?? null }))
}

/** Ends a connection of a member. For the organization's administrators. */
export async function endOrganizationConnection(connectionId: string): Promise<void> {
  await take(
    signed.DELETE('/v1/organization/connection/{connection_id}', {
      params: { path: { connection_id: connectionId } },
    }),
  )
}
