import { addUploaded } from '@/entities/source/dataSources'
import { ApiError } from '@/lib/api'
import { type Uploaded, uploadDataSource } from '@/lib/api/dataSources'
import { isReadable, refusalReason } from './files'
import { texts } from './texts'

/** The default number of concurrent uploads. */
const LINES = 2

/** How long the queue waits when the server has too many uploads, in milliseconds. The server counts for a minute. */
const REST_MS = 10_000

/** Upload is a pending or failed upload of a file. */
export interface Upload<T = Uploaded> {
  readonly id: number
  readonly file: File
  readonly state: 'waiting' | 'sending' | 'failed'
  /** The uploaded part, in whole percent. */
  readonly percent: number
  /** Why it failed, and whether a retry may succeed. */
  readonly reason: string
  readonly again: boolean
  /** The target; null for the list of data sources. */
  readonly to: UploadTarget<T> | null
}

/** UploadTarget is a target of uploads other than the list of data sources, such as the composer of a thread. */
export interface UploadTarget<T = Uploaded> {
  readonly name: string
  /** Called instead of the queue's own `onSent`. */
  readonly onSent: (uploaded: T) => void
}

/** UploadRefused means that a file cannot be uploaded, for the reason in its message. */
export class UploadRefused extends Error {}

export interface UploadDeps<T> {
  readonly send: (
    file: File,
    options: { onProgress: (part: number) => void; signal: AbortSignal },
    to: UploadTarget<T> | null,
  ) => Promise<T>
  readonly onSent: (uploaded: T) => void
  /** The number of concurrent uploads. With one, files arrive in order. */
  readonly lines?: number
  /** Returns why the server would refuse a file; undefined if it would not. */
  readonly refusalReason: (file: File) => string | undefined
}

/**
 * UploadQueue uploads files in the order of their addition, a few at a time. It removes uploads that are sent and keeps
 * failed ones for a retry.
 */
export class UploadQueue<T = Uploaded> {
  readonly #listeners = new Set<() => void>()
  readonly #sending = new Map<number, AbortController>()
  #uploads: readonly Upload<T>[] = []
  #lastId = 0
  #resting = false

  constructor(private readonly deps: UploadDeps<T>) {}

  /** The pending and failed uploads, oldest first. The array is a new one after every change. */
  get uploads(): readonly Upload<T>[] {
    return this.#uploads
  }

  /** Whether uploads are pending. */
  get busy(): boolean {
    return this.#uploads.some(({ state }) => state !== 'failed')
  }

  /** Calls `listener` after every change; the returned function stops it. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Adds files to the queue. It does not send files that the server would refuse. */
  add(files: readonly File[], to: UploadTarget<T> | null = null): void {
    const added = files.map((file): Upload<T> => {
      const reason = this.deps.refusalReason(file)
      const state = reason === undefined ? 'waiting' : 'failed'
      return { id: ++this.#lastId, file, state, percent: 0, reason: reason ?? '', again: false, to }
    })
    this.#set([...this.#uploads, ...added])
    this.#next()
  }

  /** Removes an upload in any state. */
  remove(id: number): void {
    this.#set(this.#uploads.filter((upload) => upload.id !== id))
    this.#sending.get(id)?.abort()
  }

  /** Retries a failed upload. */
  retry(id: number): void {
    this.#patch(id, { state: 'waiting', percent: 0, reason: '' })
    this.#next()
  }

  #next(): void {
    if (this.#resting) return
    for (const upload of this.#uploads) {
      if (this.#sending.size >= (this.deps.lines ?? LINES)) return
      if (upload.state === 'waiting') void this.#send(upload)
    }
  }

  async #send({ id, file, to }: Upload<T>): Promise<void> {
    const controller = new AbortController()
    this.#sending.set(id, controller)
    this.#patch(id, { state: 'sending' })
    const { signal } = controller
    const onProgress = (part: number) => this.#patch(id, { percent: Math.floor(part * 100) })
    try {
      const uploaded = await this.deps.send(file, { onProgress, signal }, to)
      // Add the data source before removing the upload, so that the items below do not move.
      const { onSent } = to ?? this.deps
      onSent(uploaded)
      this.#set(this.#uploads.filter((upload) => upload.id !== id))
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 429) {
        this.#patch(id, { state: 'waiting', percent: 0 })
        this.#rest()
      } else if (!signal.aborted) this.#patch(id, { state: 'failed', ...(await failureOf(cause, file)) })
    }
    this.#sending.delete(id)
    this.#next()
  }

  #rest(): void {
    if (this.#resting) return
    this.#resting = true
    setTimeout(() => {
      this.#resting = false
      this.#next()
    }, REST_MS)
  }

  #patch(id: number, change: Partial<Upload<T>>): void {
    const before = this.#uploads.find((upload) => upload.id === id)
    if (before === undefined) return
    const next = { ...before, ...change }
    if (next.percent === before.percent && next.state === before.state) return
    this.#set(this.#uploads.map((upload) => (upload === before ? next : upload)))
  }

  #set(uploads: readonly Upload<T>[]): void {
    this.#uploads = uploads
    for (const listener of this.#listeners) listener()
  }
}

/** Statuses that a retry cannot change: the file is too large, or of an unsupported kind. */
const final = [413, 415]

async function failureOf(cause: unknown, file: File): Promise<Pick<Upload, 'reason' | 'again'>> {
  if (cause instanceof UploadRefused) return { reason: cause.message, again: false }
  // A file that was moved or changed causes the same error as a network failure.
  if (!(await isReadable(file))) return { reason: texts.refused.unreadable, again: false }
  if (!(cause instanceof ApiError)) return { reason: texts.uploadFailed, again: true }
  return { reason: cause.detail, again: !final.includes(cause.status) }
}

/** The uploads of this tab. They continue on other pages of the app. */
export const uploads = new UploadQueue<Uploaded>({
  send: (file, options) => uploadDataSource(file, options),
  onSent: addUploaded,
  refusalReason,
})

/**
 * askBeforeLeaving makes the browser ask before it closes the tab while uploads are pending, until the returned
 * function is called. It does not ask a user who is signed out, whose uploads cannot succeed.
 */
export function askBeforeLeaving(
  queue: Pick<UploadQueue, 'busy' | 'subscribe'>,
  target: Window,
  isSignedIn: () => boolean,
): () => void {
  const onLeave = (event: BeforeUnloadEvent) => {
    if (isSignedIn()) event.preventDefault()
  }
  const update = () => {
    // Only while needed, because this listener excludes the page from the back-forward cache.
    if (queue.busy) target.addEventListener('beforeunload', onLeave)
    else target.removeEventListener('beforeunload', onLeave)
  }
  update()
  const stop = queue.subscribe(update)
  return () => {
    stop()
    target.removeEventListener('beforeunload', onLeave)
  }
}
