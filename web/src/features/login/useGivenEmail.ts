import { useLocation, useSearchParams } from 'react-router'
import { rememberedAddress } from '@/entities/session/place'

/**
 * useGivenEmail returns the address from the previous page or from a link in a mail (`?email=`), or that of the last user
 * on this device.
 */
export function useGivenEmail(): string {
  const { state } = useLocation()
  const [query] = useSearchParams()
  const { email } = (state ?? {}) as { email?: unknown }
  return typeof email === 'string' ? email : (query.get('email') ?? rememberedAddress())
}
