import { QueriesObserver, useQueries } from '@tanstack/react-query'
import { useAtomValue } from 'jotai'
import { useSyncExternalStore } from 'react'
import { MAX_ASKED } from '@/entities/source/askSources'
import { rememberSources, sourceQuery, takeUploaded } from '@/entities/source/dataSources'
import { type Upload, uploads } from '@/entities/source/uploads'
import { ApiError, type DataSource, type Picture } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import { toast } from '@/lib/ui/toast'
import { type Attachments, attach, attachmentsAtom, clearAdded, readAttachments } from './attachments'
import type { ConversationState } from './conversationState'
import { draftAtom } from './drafts'
import { pictureUploads } from './pictures'
import { texts } from './texts'
import { isWriting } from './turns'

type Asked = Pick<ConversationState, 'thread' | 'turns'>

/** One data source that a question may use. */
export interface QuestionFile {
  readonly id: string
  /** Undefined until it has been read from the server. */
  readonly source: DataSource | undefined
  /** Whether the thread has it already. */
  readonly ofThread: boolean
  readonly used: boolean
}

/** Whether a question can be sent as far as its files are concerned. */
export type Readiness = 'ready' | 'reading' | 'failed'

/** The files of a question that is being written. */
export interface QuestionFiles {
  readonly files: readonly QuestionFile[]
  /** Those that are on their way to the server, or did not get there. */
  readonly uploads: readonly Upload[]
  readonly pictures: readonly Picture[]
  readonly pictureUploads: readonly Upload<Picture>[]
  readonly readiness: Readiness
  readonly waiting: boolean
}

/** The data sources of a thread, with those of a question that is on its way: the thread gets them with it. */
export function threadSources({ thread, turns }: Asked): readonly string[] {
  const asking = isWriting(turns.at(-1)) ? turns.slice(-2) : []
  const asked = asking.flatMap(({ message }) => message.data_source_ids ?? [])
  return [...new Set([...(thread?.data_sources ?? []).map(({ id }) => id), ...asked])]
}

/** The data sources that a question would use now; undefined where there are none to choose from. */
export function usedSources(state: Asked, { added, without }: Attachments): readonly string[] | undefined {
  const ofThread = threadSources(state)
  if (ofThread.length + added.length === 0) return undefined
  return [...new Set([...ofThread.filter((id) => !without.includes(id)), ...added])]
}

/** The files of the question in a composer, by the key of its draft, as they are now. */
export function useQuestionFiles(key: string, state: Asked): QuestionFiles {
  const attachments = useAtomValue(attachmentsAtom(key))
  const { added, without, pictures, waiting } = attachments
  const ofThread = threadSources(state)
  const ids = [...new Set([...ofThread, ...added])]
  const results = useQueries({ queries: ids.map(sourceQuery) }, queryClient)
  const files = ids.flatMap((id, at): QuestionFile[] => {
    const result = results[at]
    // One that has been deleted meanwhile.
    if (isGone(result?.error)) return []
    const used = added.includes(id) || !without.includes(id)
    return [{ id, source: result?.data, ofThread: ofThread.includes(id), used }]
  })
  const uploading = useUploads(key)
  const shooting = usePictureUploads(key)
  const sources = files.filter(({ used }) => used).map(({ source }) => source)
  const readiness = readinessOf(sources, [...uploading, ...shooting])
  return { files, uploads: uploading, pictures, pictureUploads: shooting, readiness, waiting }
}

/** The uploads for one composer or field. */
export function useUploads(name: string): readonly Upload[] {
  const all = useSyncExternalStore(uploads.subscribe, () => uploads.uploads)
  return all.filter(({ to }) => to?.name === name)
}

/** The same of pictures. */
export function usePictureUploads(name: string): readonly Upload<Picture>[] {
  const all = useSyncExternalStore(pictureUploads.subscribe, () => pictureUploads.uploads)
  return all.filter(({ to }) => to?.name === name)
}

/** Whether something for a composer is on its way, or did not get there. */
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

/** Calls back with how far some data sources are, now and after each change, until the returned function is called. */
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

/** Adds data sources to the question in a composer, as many as a thread may have. */
export function addSources(key: string, state: Asked, sources: readonly DataSource[]): void {
  rememberSources(sources)
  const known = new Set([...threadSources(state), ...readAttachments(key).added])
  const fresh = sources.map(({ id }) => id).filter((id) => !known.has(id))
  const room = roomIn(key, state)
  attach(key, [...sources.map(({ id }) => id).filter((id) => known.has(id)), ...fresh.slice(0, room)])
  refuse(fresh.length - room)
}

/** Uploads files for the question in a composer, as many as a thread may have. */
export function addFiles(key: string, state: Asked, files: readonly File[]): void {
  const room = roomIn(key, state)
  uploads.add(files.slice(0, room), {
    name: key,
    onSent: (uploaded) => {
      takeUploaded(uploaded, true)
      rememberSources([uploaded.source])
      attach(key, [uploaded.source.id])
    },
  })
  refuse(files.length - room)
}

/** How many more data sources a thread may have. */
function roomIn(key: string, state: Asked): number {
  const ids = new Set([...threadSources(state), ...readAttachments(key).added])
  const uploading = uploads.uploads.filter(({ to }) => to?.name === key).length
  return Math.max(0, MAX_ASKED - ids.size - uploading)
}

function refuse(count: number): void {
  if (count > 0) toast(texts.files.tooMany(MAX_ASKED, count))
}

/** Takes a question out of its composer, complete and ready to be sent; null if there is none. */
export function takeQuestion(
  key: string,
  state: Asked,
): {
  readonly content: string
  readonly sources?: readonly string[]
  readonly pictures?: readonly Picture[]
} | null {
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
