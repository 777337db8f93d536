import { saveToken, type TokenRecord } from '@/entities/identity/token'
import { forgetPlace, rememberAddress, rememberedPlace } from '@/entities/session/place'
import { emailOf } from '@/lib/api/jwt'
import { queryClient } from '@/lib/api/queries'

/** startSession starts a session. It returns the path of the next page: `next`, the page before the sign-in, or /home. */
export function startSession(record: TokenRecord, next: string | null = null): string {
  // The cache may contain data of another user.
  queryClient.clear()
  saveToken(record)
  rememberAddress(emailOf(record.idToken))
  const place = next ?? rememberedPlace() ?? '/home'
  forgetPlace()
  return place
}
