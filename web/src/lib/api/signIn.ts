import { ApiError, asApiError, assertRequired, readProblem } from './errors'
import { open, take } from './http'
import type { Me, TokenRecord } from './types'

/** Exchanges the one-time code of a single sign-on for tokens. */
export async function oauth2Callback(organizationId: string, code: string): Promise<TokenRecord> {
  assertRequired('oauth2Callback', 'organization_id', organizationId)
  return take(
    open.GET('/v1/oauth2/callback', { params: { query: { organization_id: organizationId, code } } }),
  )
}

/** Whom an id token belongs to, before it is anybody's session here: a refusal ends nothing. */
export async function ownerOf(idToken: string): Promise<Me> {
  let response: Response
  try {
    response = await fetch('/v1/me', { headers: { Authorization: `Bearer ${idToken}` }, cache: 'no-store' })
  } catch (cause) {
    throw asApiError(cause)
  }
  if (!response.ok) throw await readProblem(response)
  return (await response.json()) as Me
}

/** Whether the server refused a session by password because the organization uses single sign-on. */
export function isSsoRequired(cause: unknown): boolean {
  return cause instanceof ApiError && cause.code === 'sso_required'
}
