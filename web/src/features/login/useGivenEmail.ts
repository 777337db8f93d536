import { useLocation, useSearchParams } from 'react-router'

/** The address that led here: of a link in a mail (`?email=`), or of the page before. */
export function useGivenEmail(): string {
  const { state } = useLocation()
  const [query] = useSearchParams()
  const { email } = (state ?? {}) as { email?: unknown }
  return typeof email === 'string' ? email : (query.get('email') ?? '')
}
