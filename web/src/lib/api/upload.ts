import { caller } from './caller'
import { asApiError, assertRequired, readProblem } from './errors'
import { call, RETRY_HEADER } from './http'
import { endpoints } from './operations.gen'

export interface UploadOptions {
  /** Called with the fraction that is sent, from 0 to 1. */
  readonly onProgress: (part: number) => void
  readonly signal: AbortSignal
}

/**
 * uploadFile uploads a file. As with every other call, an expired token is renewed and the file is sent once more. A
 * token that is known to have expired is renewed before the file is sent.
 */
export async function uploadFile(
  operation: 'uploadDataSource' | 'uploadPicture',
  file: File,
  options: UploadOptions,
  headers: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string>> = {},
): Promise<Response> {
  assertRequired(operation, 'file', file)
  const params = new URLSearchParams(query)
  const path = `${endpoints[operation].path}${params.size > 0 ? `?${params}` : ''}`
  let response = await send(path, file, options, { ...headers, ...(await authorization()) })
  if (response.status === 401) {
    // An ordinary call handles the reason: it renews an expired token, and ends the session of a removed account.
    await call('me', { signal: options.signal })
    const again = { ...headers, ...(await authorization()), [RETRY_HEADER]: '1' }
    response = await send(path, file, options, again)
  }
  if (!response.ok) throw await readProblem(response)
  return response
}

async function authorization(): Promise<Record<string, string>> {
  const token = await caller().token(0)
  return token === null ? {} : { Authorization: `Bearer ${token}` }
}

/** send posts a file with XMLHttpRequest, because fetch does not report upload progress. */
function send(
  path: string,
  file: File,
  { onProgress, signal }: UploadOptions,
  headers: Record<string, string>,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const form = new FormData()
    form.append('file', file, file.name)
    const request = new XMLHttpRequest()
    const abort = () => request.abort()
    request.open('POST', path)
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => resolve(responseOf(request))
    request.onerror = () => reject(asApiError(new TypeError('The file could not be sent.')))
    request.onabort = () => reject(signal.reason)
    request.onloadend = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort)
    request.send(form)
  })
}

function responseOf(request: XMLHttpRequest): Response {
  const requestId = request.getResponseHeader('X-Request-Id')
  const headers: HeadersInit = requestId ? { 'X-Request-Id': requestId } : {}
  return new Response(request.responseText, { status: request.status, headers })
}
