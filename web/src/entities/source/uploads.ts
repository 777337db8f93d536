import { takeUploaded } from '@/entities/source/dataSources'
import { ApiError } from '@/lib/api'
import { type Uploaded, uploadDataSource } from '@/lib/api/dataSources'
import { isReadable, whyRefused } from './files'
import { texts } from './texts'

/** How many files are sent at a time, if it is not said otherwise. */
const LINES = 2

/** A file that is on its way to the server, or that did not get there. */
export interface Upload<T = Uploaded> {
  readonly id: number
  readonly file: File
  readonly state: 'waiting' | 'sending' | 'failed'
  /** How much has been sent, in whole percent. */
  readonly percent: number
  /** Why it failed, and whether it may go better another time. */
  readonly reason: string
  readonly again: boolean
  /** What it is for, if not for the list of data sources alone. */
  readonly to: UploadTarget<T> | null
}

/** Something else than the list of data sources that waits for uploads, such as the composer of a thread. */
export interface UploadTarget<T = Uploaded> {
  readonly name: string
  /** Called in place of the queue's own `onSent`. */
  readonly onSent: (uploaded: T) => void
}

export interface UploadDeps<T> {
  readonly send: (
    file: File,
    options: { onProgress: (part: number) => void; signal: AbortSignal },
  ) => Promise<T>
  readonly onSent: (uploaded: T) => void
  /** How many files are sent at a time. One at a time arrive in their order. */
  readonly lines?: number
  /** Why a file need not be sent; undefined if it may be. */
  readonly whyRefused: (file: File) => string | undefined
}

/**
 * Sends files, a few at a time, in the order in which they were added. What is sent leaves; what failed stays until it is
 * sent.
 */
export class UploadQueue<T = Uploaded> {
  readonly #listeners = new Set<() => void>()
  readonly #sending = new Map<number, AbortController>()
  #uploads: readonly Upload<T>[] = []
  #lastId = 0

  constructor(private readonly deps: UploadDeps<T>) {}

  /** What is on its way or has failed, oldest first; a new array whenever something changed. */
  get uploads(): readonly Upload<T>[] {
    return this.#uploads
  }

  /** Whether something is on its way. */
  get busy(): boolean {
    return this.#uploads.some(({ state }) => state !== 'failed')
  }

  /** Calls `listener` after every change; the returned function stops it. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Sends files as soon as it is their turn. What the server would refuse is not sent. */
  add(files: readonly File[], to: UploadTarget<T> | null = null): void {
    const added = files.map((file): Upload<T> => {
      const reason = this.deps.whyRefused(file)
      const state = reason === undefined ? 'waiting' : 'failed'
      return { id: ++this.#lastId, file, state, percent: 0, reason: reason ?? '', again: false, to }
    })
    this.#set([...this.#uploads, ...added])
    this.#next()
  }

  /** Takes a file out, whatever state it is in. */
  remove(id: number): void {
    this.#set(this.#uploads.filter((upload) => upload.id !== id))
    this.#sending.get(id)?.abort()
  }

  /** Sends one that failed again. */
  retry(id: number): void {
    this.#patch(id, { state: 'waiting', percent: 0, reason: '' })
    this.#next()
  }

  #next(): void {
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
      const uploaded = await this.deps.send(file, { onProgress, signal })
      // The real one comes before this one goes, so that what is below does not jump.
      const { onSent } = to ?? this.deps
      onSent(uploaded)
      this.#set(this.#uploads.filter((upload) => upload.id !== id))
    } catch (cause) {
      if (!signal.aborted) this.#patch(id, { state: 'failed', ...(await failureOf(cause, file)) })
    }
    this.#sending.delete(id)
    this.#next()
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

/** What the server will say again, whatever is done here: the file is too large, or of no kind that it reads. */
const final = [413, 415]

async function failureOf(cause: unknown, file: File): Promise<Pick<Upload, 'reason' | 'again'>> {
  // A file that was moved or changed meanwhile looks like a network that is down.
  if (!(await isReadable(file))) return { reason: texts.refused.unreadable, again: false }
  if (!(cause instanceof ApiError)) return { reason: texts.uploadFailed, again: true }
  return { reason: cause.detail, again: !final.includes(cause.status) }
}

/** The uploads of this tab. They go on while other pages of the app are open. */
export const uploads = new UploadQueue({ send: uploadDataSource, onSent: takeUploaded, whyRefused })

/**
 * Has the browser ask before the tab is closed while something is on its way, until the returned function is called. A
 * person who is signed out must go: their uploads cannot succeed any more.
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
    // Only while it is needed: a page with this listener is not kept in the back/forward cache.
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
