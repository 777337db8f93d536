import { createHash } from 'node:crypto'
import type { Account } from '../support/account'

/** The User-Agent of the extension. */
export const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36'
const verifier = 'verifier-verifier-verifier-verifier-verifier'

/** The extension's authorization request. */
export async function authorization(server: string): Promise<Record<string, string>> {
  const updates = await (await fetch(`${server}/extension/updates.xml`)).text()
  const [, id = ''] = /appid="([a-p]{32})"/.exec(updates) ?? []
  return {
    response_type: 'code',
    client_id: 'tsumugi-extension',
    redirect_uri: `https://${id}.chromiumapp.org/`,
    scope: 'extension',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
}

/** Connects the extension to an account. */
export async function connectExtension(server: string, account: Account): Promise<void> {
  const request = await authorization(server)
  const allowed = await account.call('POST', '/v1/oauth2/grant', { ...request, allow: true })
  const { redirect_to } = (await allowed.json()) as { redirect_to: string }
  const { client_id = '', redirect_uri = '' } = request
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id,
    redirect_uri,
    code: new URL(redirect_to).searchParams.get('code') ?? '',
    code_verifier: verifier,
  })
  const headers = { 'User-Agent': chrome }
  const answer = await fetch(`${server}/v1/oauth2/token`, { method: 'POST', body, headers })
  const { access_token } = (await answer.json()) as { access_token: string }
  await fetch(`${server}/v1/me`, { headers: { ...headers, authorization: `Bearer ${access_token}` } })
}

export async function createToken(account: Account, name: string): Promise<void> {
  const expires_on = new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10)
  const token = { request_id: crypto.randomUUID(), name, scopes: ['chat'], expires_on }
  await account.call('POST', '/v1/connection/token', token)
}
