import { ApiError, assertRequired } from './errors'
import { call } from './http'
import type { Me } from './types'

/** The URL for signing in at the organization's identity provider. After signing in, the browser opens `next`. */
export function oauth2Authorize(organizationId: string, next?: string | null, prompt?: 'login'): string {
  assertRequired('oauth2Authorize', 'organizationId', organizationId)
  const query = new URLSearchParams({
    organization_id: organizationId,
    ...(next && { next }),
    ...(prompt && { prompt }),
  })
  return `/v1/oauth2/authorize?${query}`
}

/** The owner of an id token that is not a session in this browser yet. A refusal ends no session. */
export async function ownerOf(idToken: string): Promise<Me> {
  return call('me', { token: idToken })
}

/**
 * isSsoRequired reports whether the server refused a session by password because the organization uses single sign-on.
 */
export function isSsoRequired(cause: unknown): boolean {
  return cause instanceof ApiError && cause.code === 'sso_required'
}
