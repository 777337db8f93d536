import { revoke } from '@/entities/identity/identity'
import { readToken } from '@/entities/identity/token'
import { api } from '@/lib/api'
import { forgetKept } from '@/lib/browser/kept'
import { session } from './session'

/** How long the server may take: whoever leaves must get away. */
const PATIENCE_MS = 10_000

/**
 * Signs out: the server and the identity provider first, then here, then on to where the server says. Whichever of them
 * cannot be reached keeps nobody signed in on a shared computer: the tokens here go in any case, and with them every draft.
 */
export async function signOutEverywhere(): Promise<void> {
  const record = readToken()
  await session.leave(async () => {
    // One after the other: the API refuses a token that is revoked already.
    const next = await api.signOut(AbortSignal.timeout(PATIENCE_MS)).catch(() => '/logout/success')
    if (record?.authType === 'cognito') await revoke(record).catch(() => {})
    forgetKept()
    return next
  })
}
