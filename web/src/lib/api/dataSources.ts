import type { Page } from './client'
import { assertRequired } from './errors'
import { signed, take } from './http'
import type { ChunkEmbedding, DataSource, Passage } from './types'
import { type UploadOptions, uploadFile } from './upload'

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

/** Uploads a file to be read. */
export async function uploadDataSource(file: File, options: UploadOptions): Promise<Uploaded> {
  assertRequired('uploadDataSource', 'file', file)
  const response = await uploadFile('/v1/data-source/file', file, options)
  return { source: (await response.json()) as DataSource, isNew: response.status === 201 }
}
