import type { FieldError } from '../api'
import { fields, isFields, text } from './fields'

/**
 * Why a stream was given up. `kind` determines what the user can do:
 * - `problem`: the server refused (RFC 9457); `code` is its stable name, e.g. `thread_busy`
 * - `network`: the question could not be delivered; sending it again is safe
 * - `protocol`: the server's events stayed inconsistent after several attempts
 */
export class StreamFailure extends Error {
  override readonly name = 'StreamFailure'

  constructor(
    readonly kind: 'problem' | 'network' | 'protocol',
    readonly code: string,
    readonly status: number,
    message: string,
    readonly detail: {
      readonly requestId?: string | undefined
      readonly retryAfterMs?: number | undefined
      readonly errors?: readonly FieldError[] | undefined
      /** The tokens of the answer, with `confirmation_required`. */
      readonly estimatedTokens?: number | undefined
    } = {},
  ) {
    super(message)
  }
}

/** The code of a question in a shared thread that waits for the running answer. The server has stored it. */
export const waitingCode = 'waiting'

/** isWaiting reports whether a response is that to a question in the queue of a shared thread. */
export function isWaiting(accepted: unknown): boolean {
  return 'position' in fields(accepted)
}

/** readProblem parses the problem document of a refused call. A response without one results in a generic code. */
export async function readProblem(response: Response, nowMs: number): Promise<StreamFailure> {
  const { status, headers } = response
  const body = fields(await response.json().catch(() => null))
  const code = text(body.code) || `http_${status}`
  return new StreamFailure('problem', code, status, text(body.detail) || text(body.title), {
    requestId: text(body.request_id) || headers.get('x-request-id') || undefined,
    retryAfterMs: retryAfter(headers.get('retry-after'), nowMs) ?? undefined,
    errors: Array.isArray(body.errors) ? body.errors.filter(isFieldError) : undefined,
    estimatedTokens: typeof body.estimated_tokens === 'number' ? body.estimated_tokens : undefined,
  })
}

function isFieldError(value: unknown): value is FieldError {
  return isFields(value) && typeof value.field === 'string' && typeof value.message === 'string'
}

/** retryAfter returns `Retry-After` in milliseconds, from seconds or an HTTP date (RFC 9110, 10.2.3). */
export function retryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null
  const trimmed = value.trim()
  if (/^\d{1,6}$/.test(trimmed)) return Number(trimmed) * 1000
  if (!/[A-Za-z]/.test(trimmed)) return null
  const at = Date.parse(trimmed)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
