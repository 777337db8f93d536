import type { FieldError, Problem } from './types'

const UNEXPLAINED = 'サーバーで問題が発生しました。時間をおいて、もう一度お試しください。'

/** The status of an {@link ApiError} without a response. */
export const NO_ANSWER = 0

/**
 * A failed call. `code` is the problem's stable machine name (`network` without a response), `message` its detail,
 * `fields` the messages for single fields, `requestId` the id for support requests, `retryAfter` the seconds to wait if
 * the server names them, else 0.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly fields: readonly FieldError[]
  readonly requestId: string
  readonly retryAfter: number

  constructor(
    status: number,
    problem: Partial<Problem>,
    { retryAfter = 0, ...options }: ErrorOptions & { retryAfter?: number } = {},
  ) {
    super(problem.detail ?? problem.title ?? UNEXPLAINED, options)
    this.status = status
    this.code = problem.code ?? (status === NO_ANSWER ? 'network' : 'unknown')
    this.detail = this.message
    this.fields = problem.errors ?? []
    this.requestId = problem.request_id ?? ''
    this.retryAfter = retryAfter
  }

  /** Whether the server could not be reached. */
  get offline(): boolean {
    return this.status === NO_ANSWER
  }

  /** The message for one field of the request, if the server sent one. */
  field(name: string): string | undefined {
    return this.fields.find((item) => item.field === name)?.message
  }
}

/** readProblem parses an error response into an {@link ApiError}. It ignores a body that is not a problem document. */
export async function readProblem(response: Response): Promise<ApiError> {
  let problem: Partial<Problem> = {}
  try {
    const body: unknown = await response.clone().json()
    if (body !== null && typeof body === 'object') problem = body as Partial<Problem>
  } catch {
    // A proxy's HTML page, or an empty body: only the status is known.
  }
  const { headers } = response
  const retryAfter = Number(headers.get('Retry-After')) || 0
  return new ApiError(
    response.status,
    { request_id: headers.get('X-Request-Id') ?? '', ...problem },
    { retryAfter },
  )
}

/** asApiError converts an error of fetch into an {@link ApiError}. It does not convert an abort by the caller. */
export function asApiError(cause: unknown): Error {
  if (cause instanceof ApiError || cause instanceof RequiredError) return cause
  if (cause instanceof DOMException && cause.name === 'AbortError') return cause
  return new ApiError(NO_ANSWER, { detail: 'サーバーに接続できませんでした。' }, { cause })
}

/** unlessGone waits for the removal of something. It succeeds if that is already gone. */
export async function unlessGone(removal: Promise<unknown>): Promise<void> {
  await removal.catch((cause) => {
    if (!(cause instanceof ApiError && cause.status === 404)) throw cause
  })
}

/** errorMessage returns the server's message for a failed call; for another error it returns `fallback`. */
export function errorMessage(cause: unknown, fallback = UNEXPLAINED): string {
  return cause instanceof ApiError ? cause.detail : fallback
}

/** firstErrorMessage returns the server's message for the first invalid field of a failed call, or errorMessage. */
export function firstErrorMessage(cause: unknown, fallback?: string): string {
  const first = cause instanceof ApiError ? cause.fields[0] : undefined
  return first?.message ?? errorMessage(cause, fallback)
}

/**
 * errorsByField returns the server's messages by the name of the field that shows them; the first one counts. `nameOf`
 * returns the name for a field of the request. `rest` joins the messages that no field shows.
 */
export function errorsByField<Name extends string>(
  cause: unknown,
  nameOf: (field: string) => Name | undefined,
): { errors: Partial<Record<Name, string>>; rest: string } {
  const errors: Partial<Record<Name, string>> = {}
  const rest: string[] = []
  const fields = cause instanceof ApiError ? cause.fields : []
  for (const { field, message } of fields) {
    const name = nameOf(field)
    if (name === undefined) rest.push(message)
    else errors[name] ??= message
  }
  if (fields.length === 0) rest.push(errorMessage(cause))
  return { errors, rest: rest.join(' ') }
}

/** A call without a required argument. */
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
