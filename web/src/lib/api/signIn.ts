import { ApiError, asApiError, assertRequired, readProblem } from './errors'
import { open, take } from './http'
import type { Me, SsoLink, SsoLinked, TokenRecord } from './types'

/** The URL for signing in at the organization's identity provider. After signing in, the browser opens `next`. */
export function oauth2Authorize(organizationId: string, next?: string | null): string {
  assertRequired('oauth2Authorize', 'organizationId', organizationId)
  const query = new URLSearchParams({ organization_id: organizationId, ...(next && { next }) })
  return `/v1/oauth2/authorize?${query}`
}

/** The result of a single sign-on, from the URL of the callback page. */
export interface CallbackRequest {
  readonly organizationId: string | null
  readonly code: string
  readonly error: string | null
  readonly errorDescription: string | null
}

/** Exchanges the one-time code of a single sign-on for tokens. */
export async function oauth2Callback(request: CallbackRequest): Promise<TokenRecord> {
  const { organizationId, code, error, errorDescription } = request
  assertRequired('oauth2Callback', 'organizationId', organizationId)
  const query = {
    organization_id: organizationId,
    code,
    ...(error && { error }),
    ...(errorDescription && { error_description: errorDescription }),
  }
  return take(open.GET('/v1/oauth2/callback', { params: { query } }))
}

/** The account that a single sign-on would be linked to. */
export async function getSsoLink(organizationId: string, link: string): Promise<SsoLink> {
  return take(open.GET('/v1/oauth2/link', { params: { query: { organization_id: organizationId, link } } }))
}

/** Confirms the link for the owner of an id token, which may differ from this browser's session. */
export async function confirmSsoLink(
  organizationId: string,
  link: string,
  idToken: string,
): Promise<SsoLinked> {
  return take(
    open.POST('/v1/oauth2/link', {
      headers: { Authorization: `Bearer ${idToken}` },
      body: { organization_id: organizationId, link },
    }),
  )
}

/** The owner of an id token that is not a session in this browser yet. A refusal ends no session. */
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

/**
 * isSsoRequired reports whether the server refused a session by password because the organization uses single sign-on.
 */
export function isSsoRequired(cause: unknown): boolean {
  return cause instanceof ApiError && cause.code === 'sso_required'
}
