import { type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken, type TokenRecord } from '@/entities/identity/token'
import { localPath } from '@/entities/session/place'
import { type TokenRecord as Answer, ApiError, call, RequiredError } from '@/lib/api'
import { startSession } from './startSession'

/** Failure of a single sign-on: the server's error code, and the message of the server or the identity provider. */
export interface Failure {
  error: string
  description: string
}

/** Promises by code. A code is valid once, so repeated calls share the same promise. */
const exchanges = new Map<string, Promise<Answer>>()

/**
 * callbackLoader completes a single sign-on. It exchanges the code, starts the session, and redirects to the page that
 * started the sign-on. It is a loader and not an effect, because a loader runs once per visit. It returns only
 * failures.
 */
export async function callbackLoader({ request }: LoaderFunctionArgs): Promise<Failure | Response> {
  const query = new URL(request.url).searchParams
  const code = query.get('code')
  const error = query.get('error')
  const errorDescription = query.get('error_description')
  if (!code) {
    // The query is removed from the URL, so a reload has none.
    if (!error && readToken() !== null) return redirect('/home')
    return { error: error ?? '', description: errorDescription ?? '' }
  }
  try {
    const known = exchanges.get(code)
    const before = known ? null : readToken()
    const exchange =
      known ??
      call('oauth2Callback', {
        organization_id: query.get('organization_id') as string,
        code,
        ...(error && { error }),
        ...(errorDescription && { error_description: errorDescription }),
      })
    exchanges.set(code, exchange)
    const answer = await exchange
    const place = startSession(recordOf(answer), localPath(answer.next))
    // The new session replaces the previous one. If it cannot be ended now, it expires. A window for a confirmation closes
    // before the response.
    if (before) void call('signOut', { token: before.idToken, keepalive: true }).catch(() => {})
    return redirect(place)
  } catch (cause) {
    // A URL without an organization is treated like one without a query.
    if (cause instanceof RequiredError) return { error: '', description: '' }
    if (!(cause instanceof ApiError)) throw cause
    return { error: cause.code, description: cause.detail }
  }
}

function recordOf(answer: Answer): TokenRecord {
  return {
    authType: answer.auth_type,
    clientId: answer.client_id,
    refreshToken: answer.refresh_token,
    idToken: answer.id_token,
    accessToken: answer.access_token,
    expiresIn: answer.expires_in,
    tokenType: answer.token_type,
  }
}
