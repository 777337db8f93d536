import { ApiError } from '@/lib/api'

/** messageOf returns the message for a failed call. */
export function messageOf(cause: unknown): string {
  if (!(cause instanceof ApiError)) return new ApiError(500, {}).detail
  return cause.fields[0]?.message ?? cause.detail
}
