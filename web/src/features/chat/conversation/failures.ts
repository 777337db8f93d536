import { ApiError } from '@/lib/api'
import { StreamFailure } from '@/lib/stream'
import { texts } from '../texts'

/** describeFailure returns the reason of a failure and the next step for the user. */
export function describeFailure(cause: unknown): string {
  const { failure } = texts
  if (cause instanceof StreamFailure) {
    if (cause.kind === 'network') return failure.network
    if (cause.code === 'thread_busy') return failure.busy
    const wait = cause.detail.retryAfterMs
    // The detail contains the reason, such as an unavailable database.
    if (cause.code === 'unavailable' && cause.message) return cause.message
    if ((cause.status === 429 || cause.status === 503) && wait !== undefined)
      return failure.limited(Math.max(1, Math.ceil(wait / 1000)))
    const field = cause.detail.errors?.[0]?.message
    return field ?? (cause.message || failure.unknown)
  }
  if (cause instanceof ApiError) {
    if (cause.offline) return failure.network
    return cause.fields[0]?.message ?? (cause.code === 'unknown' ? failure.unknown : cause.detail)
  }
  return failure.unknown
}

/** fieldMessages returns the error messages for the fields whose names begin with a prefix, by the rest of the name. */
export function fieldMessages(cause: unknown, prefix: string): Readonly<Record<string, string>> {
  const errors =
    cause instanceof StreamFailure
      ? (cause.detail.errors ?? [])
      : cause instanceof ApiError
        ? cause.fields
        : []
  return Object.fromEntries(
    errors
      .filter(({ field }) => field.startsWith(prefix))
      .map(({ field, message }) => [field.slice(prefix.length), message]),
  )
}
