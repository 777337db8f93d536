import type { Provider } from '@/entities/identity/identity'
import { type AuthTypeAnswer, call } from '@/lib/api'

/** providerOf returns the user pool in the server's response. It exists even if most members use single sign-on. */
export function providerOf(way: AuthTypeAnswer): Provider {
  return { endpoint: way.endpoint, clientId: way.client_id }
}

/** findProvider returns the user pool for an address. */
export async function findProvider(email: string): Promise<Provider> {
  return providerOf(await call('authType', { body: { email } }))
}
