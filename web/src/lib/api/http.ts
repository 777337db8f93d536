import { caller } from './caller'
import { asApiError, assertRequired, readProblem } from './errors'
import { endpoints } from './operations.gen'
import type { operations } from './schema.gen'

/** Marks the one retry after a renewal of the token, so that it is never repeated. */
export const RETRY_HEADER = 'x-no-retry'

/** The name of an operation of the API: its operationId. */
export type Operation = keyof typeof endpoints & keyof operations

export interface Endpoint {
  /** GET if undefined. */
  readonly method?: string
  readonly path: string
  /** The name of the required JSON body. */
  readonly body?: string
  /** Other required arguments that are not part of the path. */
  readonly required?: readonly string[]
  /** Whether the response is something else than JSON, and whether the operation needs no token. */
  readonly file?: boolean
  readonly open?: boolean
}

interface Options {
  readonly signal?: AbortSignal | undefined
  /** Finishes the call even if the page closes. */
  readonly keepalive?: boolean | undefined
  /** An id token other than that of the session. */
  readonly token?: string | undefined
}

type Given<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>

type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? { body: B } : unknown

/** Arguments are the parameters of an operation, in one object with its body. */
export type Arguments<O extends Operation> = Given<operations[O]['parameters']['path']> &
  Given<operations[O]['parameters']['query']> &
  Given<operations[O]['parameters']['header']> &
  Body<operations[O]> &
  Options

type Content<R> = R extends { content: { 'application/json': infer C } }
  ? C
  : R extends { content: object }
    ? Blob
    : undefined

type Responses<O extends Operation> = operations[O]['responses']

/** Result is the content of a successful response. */
type Result<O extends Operation> = Content<Responses<O>[keyof Responses<O> & (200 | 201 | 202 | 204)]>

/**
 * call makes a call of the API and returns the content of its response. It throws a {@link RequiredError} if a required
 * argument is missing, and an {@link ApiError} for a problem.
 */
export async function call<O extends Operation>(
  operation: O,
  ...[given]: object extends Arguments<O> ? [given?: Arguments<O>] : [given: Arguments<O>]
): Promise<Result<O>> {
  const { method = 'GET', path, file, open }: Endpoint = endpoints[operation]
  const { body, signal, keepalive = false, token, ...values }: Options & Values = { ...given }
  assertArguments(operation, body, values)
  const headers = new Headers(token === undefined ? {} : { Authorization: `Bearer ${token}` })
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || path.includes(`{${name}}`)) continue
    // The names of headers begin with a capital letter.
    if (/^[A-Z]/.test(name)) headers.set(name, String(value))
    else query.append(name, String(value))
  }
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))
  const init: RequestInit = { method, headers, keepalive, signal: signal ?? null }
  if (body !== undefined) init.body = JSON.stringify(body)
  const request = new Request(query.size > 0 ? `${url}?${query}` : url, init)
  let response: Response
  try {
    response = await (open || token !== undefined ? fetch(request) : caller().fetch(request))
    if (response.status === 204) return undefined as Result<O>
    if (response.ok) return (await (file ? response.blob() : response.json())) as Result<O>
  } catch (cause) {
    throw asApiError(cause)
  }
  throw await readProblem(response)
}

type Values = Readonly<Record<string, unknown>>

/** assertArguments throws a RequiredError if a required argument is missing. */
function assertArguments(operation: Operation, body: unknown, values: Values): void {
  const { path, required = [], body: bodyName }: Endpoint = endpoints[operation]
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const all = { ...(body as Values | undefined), ...values }
  for (const name of [...inPath, ...required]) assertRequired(operation, camelCase(name), all[name])
  if (bodyName !== undefined) assertRequired(operation, bodyName, presentBody(body))
}

/** presentBody returns the body of a request, or undefined if none of its fields has a value. */
function presentBody(body: unknown): unknown {
  const values = typeof body === 'object' && body !== null ? Object.values(body) : []
  const empty = values.length > 0 && values.every((value) => value === undefined)
  return empty ? undefined : body
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
