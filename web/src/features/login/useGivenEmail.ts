import { useLocation, useSearchParams } from 'react-router'

/** useGivenEmail returns the address from a link in a mail (`?email=`), or from the previous page. */
export function useGivenEmail(): string {
  const { state } = useLocation()
  const [query] = useSearchParams()
  const { email } = (state ?? {}) as { email?: unknown }
  return typeof email === 'string' ? email : (query.get('email') ?? '')
}
