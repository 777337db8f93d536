import { type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken, type TokenRecord } from '@/entities/identity/token'
import { localPath } from '@/entities/session/place'
import { type TokenRecord as Answer, ApiError, RequiredError } from '@/lib/api'
import { oauth2Callback } from '@/lib/api/signIn'
import { enter } from './enter'

/** Why a single sign-on led to nothing: the server's name for it, and its words or the identity provider's. */
export interface Failure {
  error: string
  description: string
}

/** A code is worth something once; whoever asks again meanwhile gets the same answer. */
const exchanges = new Map<string, Promise<Answer>>()

/**
 * The end of a single sign-on: exchanges the code, begins the session, and goes on to where it was begun from. A loader, and
 * not an effect, since a loader runs once for each visit. What it returns is a failure.
 */
export async function callbackLoader({ request }: LoaderFunctionArgs): Promise<Failure | Response> {
  const query = new URL(request.url).searchParams
  const code = query.get('code')
  const error = query.get('error')
  const errorDescription = query.get('error_description')
  if (!code) {
    // The query is taken off the address: a page that is loaded anew begins without one.
    if (!error && readToken() !== null) return redirect('/home')
    return { error: error ?? '', description: errorDescription ?? '' }
  }
  try {
    const exchange =
      exchanges.get(code) ??
      oauth2Callback({ organizationId: query.get('organization_id'), code, error, errorDescription })
    exchanges.set(code, exchange)
    const answer = await exchange
    return redirect(enter(recordOf(answer), localPath(answer.next)))
  } catch (cause) {
    // An address that names no organization is as good as one with nothing.
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
