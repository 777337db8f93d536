import { atom, useAtomValue } from 'jotai'
import { useSyncExternalStore } from 'react'
import { readToken } from '@/entities/identity/token'
import { refreshSoon } from '@/entities/project/projects'
import { refusalReason } from '@/entities/source/files'
import { askBeforeLeaving, type Upload, UploadQueue, type UploadTarget } from '@/entities/source/uploads'
import { type Uploaded, uploadDataSource } from '@/lib/api/dataSources'
import { store } from '@/lib/ui/store'
import { isArchive, unpack } from './archives'

/** Sent counts the files that were uploaded into a project: new files, and files with a known content. */
interface Sent {
  readonly added: number
  readonly known: number
}

const none: Sent = { added: 0, known: 0 }

/** The uploaded files by project, until the user closes the report. */
const sentAtom = atom<Readonly<Record<string, Sent>>>({})

/** The uploads into projects. They continue on other pages of the app. The name of a target is the project's id. */
const queue: UploadQueue<Uploaded | null> = new UploadQueue<Uploaded | null>({
  send: (file, options, to) =>
    isArchive(file) ? uploadContents(file, options, to) : uploadDataSource(file, options, to?.name),
  onSent: () => {},
  refusalReason: (file) => (isArchive(file) ? undefined : refusalReason(file)),
})
askBeforeLeaving(queue, window, () => readToken() !== null)

/** uploadContents adds the files of an archive to the queue. */
async function uploadContents(
  archive: File,
  options: { onProgress: (part: number) => void; signal: AbortSignal },
  to: UploadTarget<Uploaded | null> | null,
): Promise<null> {
  await unpack(archive, { ...options, onFile: (file) => queue.add([file], to) })
  return null
}

function setSent(projectId: string, change: (sent: Sent) => Sent): void {
  store.set(sentAtom, (all) => ({ ...all, [projectId]: change(all[projectId] ?? none) }))
}

/** uploadTo adds files to the queue for a project. */
export function uploadTo(projectId: string, files: readonly File[]): void {
  queue.add(files, {
    name: projectId,
    onSent: (uploaded) => {
      if (uploaded === null) return // An archive.
      const { isNew } = uploaded
      setSent(projectId, ({ added, known }) =>
        isNew ? { added: added + 1, known } : { added, known: known + 1 },
      )
      refreshSoon()
    },
  })
}

/** ProjectUploads are the uploads into a project. */
export interface ProjectUploads extends Sent {
  readonly waiting: readonly ProjectUpload[]
  readonly failed: readonly ProjectUpload[]
}

type ProjectUpload = Upload<Uploaded | null>

/** useUploads returns the uploads into a project. */
export function useUploads(projectId: string): ProjectUploads {
  const uploads = useSyncExternalStore(queue.subscribe, () => queue.uploads)
  const sent = useAtomValue(sentAtom, { store })[projectId] ?? none
  const own = uploads.filter(({ to }) => to?.name === projectId)
  return {
    ...sent,
    waiting: own.filter(({ state }) => state !== 'failed'),
    failed: own.filter(({ state }) => state === 'failed'),
  }
}

/** retry sends failed uploads again. */
export function retry(uploads: readonly ProjectUpload[]): void {
  for (const { id } of uploads) queue.retry(id)
}

/** remove removes uploads from the queue. */
export function remove(uploads: readonly ProjectUpload[]): void {
  for (const { id } of uploads) queue.remove(id)
}

/** closeReport removes the failed uploads into a project, and the numbers of the others. */
export function closeReport(projectId: string, { failed }: ProjectUploads): void {
  setSent(projectId, () => none)
  remove(failed)
}
