import { api } from './api'
import { revoke } from './identity'
import { session } from './session'
import { readToken } from './token'

/**
 * Signs out: the server and the identity provider first, then here, then on to where the server says. Whichever of them
 * cannot be reached keeps nobody signed in on a shared computer: the tokens here go in any case.
 */
export async function signOutEverywhere(): Promise<void> {
  const record = readToken()
  // What fails is signed out here all the same; the sessions out there end with their tokens.
  const next = await api.signOut().catch(() => '/login')
  if (record?.authType === 'cognito') await revoke(record).catch(() => {})
  session.end(next)
}
