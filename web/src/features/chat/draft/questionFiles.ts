import { QueriesObserver, useQueries } from '@tanstack/react-query'
import { useAtomValue } from 'jotai'
import { useSyncExternalStore } from 'react'
import { MAX_ASKED } from '@/entities/source/askSources'
import { addUploaded, rememberSources, sourceQuery } from '@/entities/source/dataSources'
import { type Upload, type UploadQueue, uploads } from '@/entities/source/uploads'
import { ApiError, type DataSource } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import { toast } from '@/lib/ui/toast'
import type { ConversationState, QuestionContent } from '../conversation/conversationState'
import { isWriting } from '../conversation/turns'
import { texts } from '../texts'
import { type Attachments, attach, attachmentsAtom, clearAdded, readAttachments } from './attachments'
import { draftAtom } from './drafts'
import { pictureUploads } from './pictures'

type Asked = Pick<ConversationState, 'thread' | 'turns'>

/** QuestionFile is a data source that a question may use. */
export interface QuestionFile {
  readonly id: string
  /** Undefined until loaded. */
  readonly source: DataSource | undefined
  /** Whether the thread already has the data source. */
  readonly ofThread: boolean
  readonly used: boolean
}

/** Readiness is the state of a question's files. */
export type Readiness = 'ready' | 'reading' | 'failed'

/** QuestionFiles are the files of the question in a composer. */
export type QuestionFiles = ReturnType<typeof useQuestionFiles>

/** threadSources returns the data sources of a thread, including those of a pending question. */
export function threadSources({ thread, turns }: Asked): readonly string[] {
  const asking = isWriting(turns.at(-1)) ? turns.slice(-2) : []
  const asked = asking.flatMap(({ message }) => message.data_source_ids ?? [])
  return [...new Set([...(thread?.data_sources ?? []).map(({ id }) => id), ...asked])]
}

/** usedSources returns the data sources that a question would use now; undefined without a choice. */
export function usedSources(state: Asked, { added, without }: Attachments): readonly string[] | undefined {
  const ofThread = threadSources(state)
  if (ofThread.length + added.length === 0) return undefined
  return [...new Set([...ofThread.filter((id) => !without.includes(id)), ...added])]
}

/** useQuestionFiles returns the current files of the question in a composer, by draft key. */
export function useQuestionFiles(key: string, state: Asked) {
  const attachments = useAtomValue(attachmentsAtom(key))
  const { added, without, pictures, waiting } = attachments
  const ofThread = threadSources(state)
  const ids = [...new Set([...ofThread, ...added])]
  const results = useQueries({ queries: ids.map(sourceQuery) }, queryClient)
  const files = ids.flatMap((id, at): QuestionFile[] => {
    const result = results[at]
    // The data source has been deleted.
    if (isGone(result?.error)) return []
    const used = added.includes(id) || !without.includes(id)
    return [{ id, source: result?.data, ofThread: ofThread.includes(id), used }]
  })
  const uploading = useUploads(uploads, key)
  const uploadingPictures = useUploads(pictureUploads, key)
  const sources = files.filter(({ used }) => used).map(({ source }) => source)
  const readiness = readinessOf(sources, [...uploading, ...uploadingPictures])
  return { files, uploads: uploading, pictures, pictureUploads: uploadingPictures, readiness, waiting }
}

/** useUploads returns the pending and failed uploads of a queue for a composer or field. */
export function useUploads<T>(queue: UploadQueue<T>, name: string): readonly Upload<T>[] {
  const all = useSyncExternalStore(queue.subscribe, () => queue.uploads)
  return all.filter(({ to }) => to?.name === name)
}

/** isUploading reports whether a composer has pending or failed uploads. */
export function isUploading(name: string): boolean {
  return uploadsTo(name).length > 0
}

function uploadsTo(name: string): readonly Pick<Upload, 'state'>[] {
  return [...uploads.uploads, ...pictureUploads.uploads].filter(({ to }) => to?.name === name)
}

export function readinessOf(
  sources: readonly (DataSource | undefined)[],
  uploading: readonly Pick<Upload, 'state'>[],
): Readiness {
  if (uploading.some(({ state }) => state === 'failed')) return 'failed'
  if (sources.some((source) => source?.status === 'failed')) return 'failed'
  return uploading.length > 0 || sources.some((source) => source?.status !== 'success') ? 'reading' : 'ready'
}

/**
 * watchReadiness calls back with the readiness of data sources, now and after each change, until the returned function
 * is called.
 */
export function watchReadiness(
  name: string,
  ids: readonly string[],
  onChange: (readiness: Readiness) => void,
): () => void {
  const observer = new QueriesObserver(queryClient, ids.map(sourceQuery))
  const look = () => {
    const results = observer.getCurrentResult().filter(({ error }) => !isGone(error))
    onChange(
      readinessOf(
        results.map(({ data }) => data as DataSource | undefined),
        uploadsTo(name),
      ),
    )
  }
  const stops = [observer.subscribe(look), uploads.subscribe(look), pictureUploads.subscribe(look)]
  look()
  return () => {
    for (const stop of stops) stop()
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

/** addSources adds data sources to the question in a composer, up to the maximum of a thread. */
export function addSources(key: string, state: Asked, sources: readonly DataSource[]): void {
  rememberSources(sources)
  const known = new Set([...threadSources(state), ...readAttachments(key).added])
  const fresh = sources.map(({ id }) => id).filter((id) => !known.has(id))
  const room = roomIn(key, state)
  attach(key, [...sources.map(({ id }) => id).filter((id) => known.has(id)), ...fresh.slice(0, room)])
  refuse(fresh.length - room)
}

/** addFiles uploads files for the question in a composer, up to the maximum of a thread. */
export function addFiles(key: string, state: Asked, files: readonly File[]): void {
  const room = roomIn(key, state)
  uploadFiles(key, files.slice(0, room), (id) => attach(key, [id]))
  refuse(files.length - room)
}

/** uploadFiles uploads files for a composer or field, and calls back with the id of each data source. */
export function uploadFiles(name: string, files: readonly File[], onSent: (id: string) => void): void {
  uploads.add(files, {
    name,
    onSent: (uploaded) => {
      addUploaded(uploaded, true)
      rememberSources([uploaded.source])
      onSent(uploaded.source.id)
    },
  })
}

/** roomIn returns how many more data sources a thread can have. */
function roomIn(key: string, state: Asked): number {
  const ids = new Set([...threadSources(state), ...readAttachments(key).added])
  const uploading = uploads.uploads.filter(({ to }) => to?.name === key).length
  return Math.max(0, MAX_ASKED - ids.size - uploading)
}

function refuse(count: number): void {
  if (count > 0) toast(texts.files.tooMany(MAX_ASKED, count))
}

/** takeQuestion takes a complete question out of its composer; null if it is empty. */
export function takeQuestion(key: string, state: Asked): QuestionContent | null {
  const draft = draftAtom(key)
  const content = store.get(draft).trim()
  if (content === '') return null
  const attachments = readAttachments(key)
  const sources = usedSources(state, attachments)
  const { pictures } = attachments
  store.set(draft, '')
  clearAdded(key)
  return { content, ...(sources && { sources }), ...(pictures.length > 0 && { pictures }) }
}
