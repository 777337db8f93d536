import type { FieldError, Problem } from './types'

const UNEXPLAINED = 'サーバーで問題が発生しました。時間をおいて、もう一度お試しください。'

/** The status of an {@link ApiError} for which no answer came at all. */
export const NO_ANSWER = 0

/**
 * A call that failed. `code` is the problem's stable machine name (`network` when no answer came), `message` its
 * detail, `fields` the messages for single fields, `requestId` what a person tells support.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly fields: readonly FieldError[]
  readonly requestId: string

  constructor(status: number, problem: Partial<Problem>, options?: ErrorOptions) {
    super(problem.detail ?? problem.title ?? UNEXPLAINED, options)
    this.status = status
    this.code = problem.code ?? (status === NO_ANSWER ? 'network' : 'unknown')
    this.detail = this.message
    this.fields = problem.errors ?? []
    this.requestId = problem.request_id ?? ''
  }

  /** Whether the server could not be reached. */
  get offline(): boolean {
    return this.status === NO_ANSWER
  }

  /** The message for one field of the request, if the server gave one. */
  field(name: string): string | undefined {
    return this.fields.find((item) => item.field === name)?.message
  }
}

/** Reads an answer with an error status into an {@link ApiError}; a body that is no problem is left out. */
export async function readProblem(response: Response): Promise<ApiError> {
  let problem: Partial<Problem> = {}
  try {
    const body: unknown = await response.clone().json()
    if (body !== null && typeof body === 'object') problem = body as Partial<Problem>
  } catch {
    // A proxy's HTML page, or nothing: the status alone has to say it.
  }
  return new ApiError(response.status, {
    request_id: response.headers.get('X-Request-Id') ?? '',
    ...problem,
  })
}

/** Turns whatever a fetch threw into an {@link ApiError}; an abort by the caller stays an abort. */
export function asApiError(cause: unknown): Error {
  if (cause instanceof ApiError || cause instanceof RequiredError) return cause
  if (cause instanceof DOMException && cause.name === 'AbortError') return cause
  return new ApiError(NO_ANSWER, { detail: 'サーバーに接続できませんでした。' }, { cause })
}

/** A call that was made without an argument it must have. */
export class RequiredError extends Error {
  override readonly name = 'RequiredError'
  readonly field: string

  constructor(field: string, operation: string) {
    super(`Required parameter ${field} was null or undefined when calling ${operation}`)
    this.field = field
  }
}

/** Throws a {@link RequiredError} if `value` is null or undefined. */
export function assertRequired<T>(
  operation: string,
  field: string,
  value: T,
): asserts value is NonNullable<T> {
  if (value === null || value === undefined) throw new RequiredError(field, operation)
}
