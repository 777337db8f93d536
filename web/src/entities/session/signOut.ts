import { revoke } from '@/entities/identity/identity'
import { readToken } from '@/entities/identity/token'
import { call } from '@/lib/api'
import { clearStoredTexts } from '@/lib/browser/storedTexts'
import { session } from './session'

/** The time limit of the servers. Signing out must end. */
const PATIENCE_MS = 10_000

/**
 * signOutEverywhere signs out at the server and the identity provider, removes all local data, and opens the URL that
 * the server returns. It removes the tokens and all drafts even if neither is reachable, so that no user stays signed
 * in on a shared computer.
 */
export async function signOutEverywhere(): Promise<void> {
  const record = readToken()
  await session.leave(async () => {
    // Sequentially, because the API refuses a revoked token.
    const next = await call('signOut', { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      ({ sign_out_url }) => sign_out_url,
      () => '/logout/success',
    )
    if (record?.authType === 'cognito') await revoke(record).catch(() => {})
    clearStoredTexts()
    return next
  })
}
