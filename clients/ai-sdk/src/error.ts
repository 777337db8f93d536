/**
 * Why there is no answer, or no whole one. `message` is in Japanese, for the person who asked; `code` is stable: that
 * of the server's problem document (`thread_busy`, …) or of the answer's failure (`model_interrupted`, …), or one of
 * ours:
 * - `network_unreachable`: the question could not be handed over; asking again is safe
 * - `answer_restarted`: the answer is written anew, which `ai` 6 can show only after `resumeStream()`
 * - `token_failed`: the token callback has thrown (`cause`)
 * - `stream_inconsistent`: what the server sends makes no sense, also when asked anew
 */
export class TsumugiError extends Error {
  override readonly name = 'TsumugiError'

  constructor(
    message: string,
    readonly code: string,
    readonly retryable = false,
    /**
     * The HTTP status of a refusal, the time after which to try again, and the problem document with all its fields.
     */
    readonly refusal: {
      readonly status: number
      readonly retryAfterMs: number
      readonly problem: Readonly<Record<string, unknown>>
    } | null = null,
    options: ErrorOptions = {},
  ) {
    super(message, options)
  }
}

/** Reads the problem document (RFC 9457) of a refusal; one that is none still gets a code. */
export async function readProblem(response: Response): Promise<TsumugiError> {
  const { status, headers } = response
  const problem = ((await response.json().catch(() => null)) ?? {}) as Record<string, unknown>
  const retryAfterMs = Number(headers.get('retry-after') ?? 0) * 1000 || 0
  const message = problem.detail ?? problem.title ?? `HTTP ${status}`
  const retryable = [408, 425, 429, 502, 503, 504].includes(status)
  const refusal = { status, retryAfterMs, problem }
  return new TsumugiError(String(message), String(problem.code ?? `http_${status}`), retryable, refusal)
}
