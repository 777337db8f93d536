/** Delays of reconnects, in milliseconds. The first one is used until the server has sent its own with `retry:`. */
export const defaultBackoff = { firstMs: 1000, maxMs: 10_000 }

/**
 * backoff returns the delay before attempt `attempt` (1 is the first reconnect). The server's `retry` is random for
 * each connection, so the first delay is used unchanged. Later ones double, with jitter between half and whole, so that
 * the clients of a lost server do not all reconnect at the same time.
 */
export function backoff(
  attempt: number,
  retryMs: number | null,
  random: () => number,
  policy: Readonly<typeof defaultBackoff> = defaultBackoff,
): number {
  const base = Math.min(retryMs ?? policy.firstMs, policy.maxMs)
  if (attempt <= 1) return retryMs === null ? jitter(base, random) : base
  const grown = Math.min(base * 2 ** Math.min(attempt - 1, 16), policy.maxMs)
  return jitter(grown, random)
}

function jitter(ms: number, random: () => number): number {
  return Math.round(ms / 2 + (ms / 2) * random())
}
