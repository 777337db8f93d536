import type { Page } from './client'
import { signed, take } from './http'
import type { ChunkEmbedding, DataSource, Passage } from './types'
import { type UploadOptions, uploadFile } from './upload'

/** The user's own data sources, newest first. */
export async function listDataSources(page: Page, signal?: AbortSignal): Promise<DataSource[]> {
  return (await take(signed.GET('/v1/data-source', { params: { query: page }, signal: signal ?? null })))
    .items
}

/** The user's own data sources whose name or text contains all words of a query, newest first, each with its match. */
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
  const params = { path: { data_source_id: dataSourceId } }
  return take(signed.GET('/v1/data-source/{data_source_id}', { params, signal: signal ?? null }))
}

/** PassagesFrom is the first passage to read: an ordinal, or the first one of a page. */
export type PassagesFrom = { readonly offset: number } | { readonly page: number }

/** Passages of a data source, in order. */
export async function listPassages(
  dataSourceId: string,
  from: PassagesFrom & { readonly limit: number },
  signal?: AbortSignal,
): Promise<Passage[]> {
  const params = { path: { data_source_id: dataSourceId }, query: from }
  const path = '/v1/data-source/{data_source_id}/passage'
  return (await take(signed.GET(path, { params, signal: signal ?? null }))).items
}

/** A passage with its position on the pages. */
export async function getPassage(chunkId: string, signal?: AbortSignal): Promise<ChunkEmbedding> {
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
  const params = { path: { data_source_id: dataSourceId, page }, query: { width } }
  const path = '/v1/data-source/{data_source_id}/page/{page}'
  const picture = await take(signed.GET(path, { params, parseAs: 'blob', signal: signal ?? null }))
  return picture as unknown as Blob
}

/** The file of a data source, as it was uploaded. */
export async function downloadDataSource(dataSourceId: string): Promise<Blob> {
  const params = { path: { data_source_id: dataSourceId } }
  const file = await take(signed.GET('/v1/data-source/file/{data_source_id}', { params, parseAs: 'blob' }))
  return file as unknown as Blob
}

/** Stops the parsing of a data source. */
export async function stopDataSource(dataSourceId: string): Promise<DataSource> {
  return await take(
    signed.POST('/v1/data-source/{data_source_id}/stop', {
      params: { path: { data_source_id: dataSourceId } },
    }),
  )
}

/** Retries the parsing of a data source that failed. */
export async function readDataSource(dataSourceId: string): Promise<DataSource> {
  return await take(
    signed.POST('/v1/data-source/{data_source_id}/read', {
      params: { path: { data_source_id: dataSourceId } },
    }),
  )
}

/** Deletes a data source with its file. */
export async function deleteDataSource(dataSourceId: string): Promise<void> {
  // keepalive: a pending deletion is sent when the page closes.
  const params = { path: { data_source_id: dataSourceId } }
  await take(signed.DELETE('/v1/data-source/{data_source_id}', { params, keepalive: true }))
}

/** The result of an upload. */
export interface Uploaded {
  readonly source: DataSource
  /** False if the same content existed already. `source` is then the existing data source. */
  readonly isNew: boolean
}

/** Uploads a file to be parsed. */
export async function uploadDataSource(file: File, options: UploadOptions): Promise<Uploaded> {
  const response = await uploadFile('/v1/data-source/file', file, options)
  return { source: (await response.json()) as DataSource, isNew: response.status === 201 }
}
