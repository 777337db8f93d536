import createClient, { type Client } from 'openapi-fetch'
import { caller } from './caller'
import { ApiError, asApiError } from './errors'
import { assertArguments, type CallArguments, type Method } from './operations'
import type { paths } from './schema.gen'

/** Marks the one retry after a renewal of the token, so that it is never repeated. */
export const RETRY_HEADER = 'x-no-retry'

/** Calls as the signed-in user. */
export const signed = checked((request) => caller().fetch(request))

/** Calls without a token. */
export const open = checked((request) => fetch(request))

/** checked returns a client that rejects calls without a required argument before sending them. */
function checked(send: (request: Request) => Promise<Response>): Client<paths> {
  const client = createClient<paths>({ baseUrl: '/', fetch: send })
  const check = (method: Method) => {
    const call = client[method] as (path: string, init?: CallArguments) => unknown
    return (path: string, init?: CallArguments) => {
      assertArguments(method, path, init)
      return call(path, init)
    }
  }
  const methods = { GET: check('GET'), POST: check('POST'), PUT: check('PUT'), DELETE: check('DELETE') }
  return { ...client, ...methods } as Client<paths>
}

interface Answer<T> {
  data?: T
  response: Response
}

/** take returns the body of a call's response. It throws a problem as an {@link ApiError}. */
export async function take<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await call
  } catch (cause) {
    throw asApiError(cause)
  }
  if (!answer.response.ok) throw await problemOf(answer)
  return answer.data as T
}

// openapi-fetch has already read the body and put it into `error`; the response's own body is consumed.
async function problemOf(answer: Answer<unknown> & { error?: unknown }): Promise<ApiError> {
  const { error, response } = answer
  if (error !== null && typeof error === 'object') {
    return new ApiError(response.status, { request_id: response.headers.get('X-Request-Id') ?? '', ...error })
  }
  return new ApiError(response.status, { request_id: response.headers.get('X-Request-Id') ?? '' })
}
