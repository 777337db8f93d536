import { caller } from './caller'
import { me, type Page } from './client'
import { asApiError, assertRequired, readProblem } from './errors'
import { RETRY_HEADER, signed, take } from './http'
import type { ChunkEmbedding, DataSource, Passage } from './types'

/** One's own data sources, newest first. */
export async function listDataSources(page: Page, signal?: AbortSignal): Promise<DataSource[]> {
  return (await take(signed.GET('/v1/data-source', { params: { query: page }, signal: signal ?? null })))
    .items
}

/** One's own data sources whose name or text has all words of a query, newest first, each with its match. */
export async function searchDataSources(
  query: string,
  page: Page,
  signal?: AbortSignal,
): Promise<DataSource[]> {
  const params = { query: { ...page, q: query } }
  return (await take(signed.GET('/v1/data-source', { params, signal: signal ?? null }))).items
}

/** One data source. */
export async function getDataSource(dataSourceId: string, signal?: AbortSignal): Promise<DataSource> {
  assertRequired('getDataSource', 'dataSourceId', dataSourceId)
  const params = { path: { data_source_id: dataSourceId } }
  return take(signed.GET('/v1/data-source/{data_source_id}', { params, signal: signal ?? null }))
}

/** Where the passages begin that are asked for: at an ordinal, or at the first one of a page. */
export type PassagesFrom = { readonly offset: number } | { readonly page: number }

/** Passages of a data source, in order. */
export async function listPassages(
  dataSourceId: string,
  from: PassagesFrom & { readonly limit: number },
  signal?: AbortSignal,
): Promise<Passage[]> {
  assertRequired('listPassages', 'dataSourceId', dataSourceId)
  const params = { path: { data_source_id: dataSourceId }, query: from }
  const path = '/v1/data-source/{data_source_id}/passage'
  return (await take(signed.GET(path, { params, signal: signal ?? null }))).items
}

/** A passage, and where it stands on the pages. */
export async function getPassage(chunkId: string, signal?: AbortSignal): Promise<ChunkEmbedding> {
  assertRequired('getPassage', 'chunkEmbeddingId', chunkId)
  const params = { path: { chunk_embedding_id: chunkId } }
  const path = '/v1/data-source-chunk-embedding/{chunk_embedding_id}'
  return take(signed.GET(path, { params, signal: signal ?? null }))
}

/** A page of a PDF as a picture that is `width` pixels wide. */
export async function getPagePicture(
  dataSourceId: string,
  page: number,
  width: number,
  signal?: AbortSignal,
): Promise<Blob> {
  assertRequired('getPagePicture', 'dataSourceId', dataSourceId)
  const params = { path: { data_source_id: dataSourceId, page }, query: { width } }
  const path = '/v1/data-source/{data_source_id}/page/{page}'
  const picture = await take(signed.GET(path, { params, parseAs: 'blob', signal: signal ?? null }))
  return picture as unknown as Blob
}

/** The file of a data source, as it was uploaded. */
export async function downloadDataSource(dataSourceId: string): Promise<Blob> {
  assertRequired('downloadDataSource', 'dataSourceId', dataSourceId)
  const params = { path: { data_source_id: dataSourceId } }
  const file = await take(signed.GET('/v1/data-source/file/{data_source_id}', { params, parseAs: 'blob' }))
  return file as unknown as Blob
}

/** Stops the reading of a data source. */
export async function stopDataSource(dataSourceId: string): Promise<DataSource> {
  assertRequired('stopDataSource', 'dataSourceId', dataSourceId)
  return await take(
    signed.POST('/v1/data-source/{data_source_id}/stop', {
      params: { path: { data_source_id: dataSourceId } },
    }),
  )
}

/** Retries reading a data source that failed. */
export async function readDataSource(dataSourceId: string): Promise<DataSource> {
  assertRequired('readDataSource', 'dataSourceId', dataSourceId)
  return await take(
    signed.POST('/v1/data-source/{data_source_id}/read', {
      params: { path: { data_source_id: dataSourceId } },
    }),
  )
}

/** Deletes a data source with its file. */
export async function deleteDataSource(dataSourceId: string): Promise<void> {
  assertRequired('deleteDataSource', 'dataSourceId', dataSourceId)
  // keepalive: a pending deletion is sent when the page closes.
  const params = { path: { data_source_id: dataSourceId } }
  await take(signed.DELETE('/v1/data-source/{data_source_id}', { params, keepalive: true }))
}

/** The result of an upload. */
export interface Uploaded {
  readonly source: DataSource
  /** False if the same content exists already: then it is that data source. */
  readonly isNew: boolean
}

interface UploadOptions {
  /** Called with the sent share, from 0 to 1. */
  readonly onProgress: (part: number) => void
  readonly signal: AbortSignal
}

/**
 * Uploads a file. Like for every other call, an expired token is renewed and the file is sent once more; if the token
 * is known to have expired, it is renewed before the file is sent.
 */
export async function uploadDataSource(file: File, options: UploadOptions): Promise<Uploaded> {
  assertRequired('uploadDataSource', 'file', file)
  let response = await send(file, options, await authorization())
  if (response.status === 401) {
    // An ordinary call handles the reason: it renews an expired token, and ends the session of a removed account.
    await me(options.signal)
    response = await send(file, options, { ...(await authorization()), [RETRY_HEADER]: '1' })
  }
  if (!response.ok) throw await readProblem(response)
  return { source: (await response.json()) as DataSource, isNew: response.status === 201 }
}

async function authorization(): Promise<Record<string, string>> {
  const token = await caller().token(0)
  return token === null ? {} : { Authorization: `Bearer ${token}` }
}

/** Posts a file by XMLHttpRequest, because fetch does not report upload progress. */
function send(
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
    request.open('POST', '/v1/data-source/file')
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
