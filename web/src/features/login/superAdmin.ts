import { revoke } from '@/entities/identity/identity'
import type { TokenRecord } from '@/entities/identity/token'
import { isSsoRequired, ownerOf } from '@/lib/api/signIn'

/**
 * admitSuperAdmin returns whether a new session belongs to an organization's super-admin, according to the server. It
 * ends any other session, and a session that the server rejects, without storing it.
 */
export async function admitSuperAdmin(record: TokenRecord): Promise<boolean> {
  try {
    const me = await ownerOf(record.idToken)
    if (me.role === 'organization-super-admin') return true
  } catch (cause) {
    await revoke(record).catch(() => {})
    if (isSsoRequired(cause)) return false
    throw cause
  }
  await revoke(record).catch(() => {})
  return false
}
