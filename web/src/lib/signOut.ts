import { api } from './api'
import { session } from './session'

/**
 * Signs out: the server first, then here, then on to where the server says. A server that cannot be reached keeps nobody
 * signed in on a shared computer: the tokens here go in any case.
 */
export async function signOutEverywhere(): Promise<void> {
  let next = '/login'
  try {
    next = await api.signOut()
  } catch {
    // Signed out here; the server's session ends with its tokens.
  }
  session.end(next)
}
