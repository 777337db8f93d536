import { revoke } from '@/entities/identity/identity'
import { readToken } from '@/entities/identity/token'
import { api } from '@/lib/api'
import { forgetKept } from '@/lib/browser/kept'
import { session } from './session'

/** The time limit of the servers: signing out must not wait for ever. */
const PATIENCE_MS = 10_000

/**
 * Signs out: first at the server and the identity provider, then here, and then goes where the server says. Even if
 * neither can be reached, nobody stays signed in on a shared computer: the tokens and all drafts here are removed in
 * any case.
 */
export async function signOutEverywhere(): Promise<void> {
  const record = readToken()
  await session.leave(async () => {
    // One after the other: the API refuses a revoked token.
    const next = await api.signOut(AbortSignal.timeout(PATIENCE_MS)).catch(() => '/logout/success')
    if (record?.authType === 'cognito') await revoke(record).catch(() => {})
    forgetKept()
    return next
  })
}
