import { saveToken, type TokenRecord } from '@/entities/identity/token'
import { forgetPlace, rememberedPlace } from '@/entities/session/place'
import { queryClient } from '@/lib/api/queries'

/** Begins a session, and returns where to go: to `next`, to the page that was left, or to /home. */
export function enter(record: TokenRecord, next: string | null = null): string {
  // Data of another user must not be shown to this one.
  queryClient.clear()
  saveToken(record)
  const place = next ?? rememberedPlace() ?? '/home'
  forgetPlace()
  return place
}
