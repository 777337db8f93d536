/**
 * TsumugiError explains why an answer is missing or incomplete. `message` is Japanese text for the user. `code` is
 * stable: the code of the server's problem document (`thread_busy`, …), the code of the answer's failure
 * (`model_interrupted`, …), or one of this package:
 * - `network_unreachable`: the question did not reach the server; sending it again is safe
 * - `answer_restarted`: the server rewrites the answer, which `ai` 6 can show only after `resumeStream()`
 * - `token_failed`: the token callback threw an error (`cause`)
 * - `stream_inconsistent`: the server's events stayed inconsistent after several attempts
 */
export class TsumugiError extends Error {
  override readonly name = 'TsumugiError'

  constructor(
    message: string,
    readonly code: string,
    readonly retryable = false,
    /** The HTTP status of an error response, the time to wait before a retry, and the complete problem document. */
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

/**
 * readProblem parses the problem document (RFC 9457) of an error response. Any other body results in a generic code.
 */
export async function readProblem(response: Response): Promise<TsumugiError> {
  const { status, headers } = response
  const problem = ((await response.json().catch(() => null)) ?? {}) as Record<string, unknown>
  const retryAfterMs = Number(headers.get('retry-after') ?? 0) * 1000 || 0
  const message = problem.detail ?? problem.title ?? `HTTP ${status}`
  const retryable = [408, 425, 429, 502, 503, 504].includes(status)
  const refusal = { status, retryAfterMs, problem }
  return new TsumugiError(String(message), String(problem.code ?? `http_${status}`), retryable, refusal)
}
