/** An error in one field of the request. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

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
  return accepted !== null && typeof accepted === 'object' && 'position' in accepted
}

export function waitingFailure(): StreamFailure {
  return new StreamFailure('problem', waitingCode, 202, '')
}

const problemLimit = 64 * 1024

/** readProblem parses the problem document of a refused call. A response without one results in a generic code. */
export async function readProblem(response: Response, nowMs: number): Promise<StreamFailure> {
  const body = await readFields(response)
  const text = (name: string) => (typeof body[name] === 'string' ? (body[name] as string) : '')
  return new StreamFailure(
    'problem',
    text('code') || `http_${response.status}`,
    response.status,
    text('detail') || text('title'),
    {
      requestId: text('request_id') || response.headers.get('x-request-id') || undefined,
      retryAfterMs: retryAfter(response.headers.get('retry-after'), nowMs) ?? undefined,
      errors: fieldErrors(body.errors),
      estimatedTokens: typeof body.estimated_tokens === 'number' ? body.estimated_tokens : undefined,
    },
  )
}

async function readFields(response: Response): Promise<Record<string, unknown>> {
  try {
    const raw = await response.text()
    if (raw.length > problemLimit) return {}
    const value: unknown = JSON.parse(raw)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function fieldErrors(value: unknown): readonly FieldError[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.filter(
    (item): item is FieldError =>
      typeof item === 'object' &&
      item !== null &&
      typeof item.field === 'string' &&
      typeof item.message === 'string',
  )
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
