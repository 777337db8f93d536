import type { Provider } from '@/entities/identity/identity'
import { type AuthTypeAnswer, api } from '@/lib/api'

/** The user pool named in the server's response; it checks passwords even if most members use single sign-on. */
export function providerOf(way: AuthTypeAnswer): Provider {
  return { endpoint: way.endpoint, clientId: way.client_id }
}

/** The user pool for an address. */
export async function findProvider(email: string): Promise<Provider> {
  return providerOf(await api.authType(email))
}
