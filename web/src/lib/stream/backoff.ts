/** Waiting times of reconnects, in milliseconds. */
export interface BackoffPolicy {
  /** Before the server has named its own with `retry:`. */
  readonly firstMs: number
  readonly maxMs: number
}

export const defaultBackoff: BackoffPolicy = { firstMs: 1000, maxMs: 10_000 }

/**
 * How long to wait before attempt `attempt` (1 is the first reconnect). The server draws its
 * `retry` at random for each connection, so the first wait is taken as it is; later ones double,
 * and are drawn between half and whole, so that clients which lost one server do not return to
 * the next one together.
 */
export function backoff(
  attempt: number,
  retryMs: number | null,
  random: () => number,
  policy: BackoffPolicy = defaultBackoff,
): number {
  const base = Math.min(retryMs ?? policy.firstMs, policy.maxMs)
  if (attempt <= 1) return retryMs === null ? jitter(base, random) : base
  const grown = Math.min(base * 2 ** Math.min(attempt - 1, 16), policy.maxMs)
  return jitter(grown, random)
}

function jitter(ms: number, random: () => number): number {
  return Math.round(ms / 2 + (ms / 2) * random())
}
