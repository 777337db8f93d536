import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { store } from '@/lib/ui/store'
import { attachmentsAtom, isKeptWaiting, keepAttachments, readAttachments, setWaiting } from './attachments'
import type { Conversation } from './conversation'
import { isUploading, type Readiness, takeQuestion, usedSources, watchReadiness } from './questionFiles'

/** A question as it leaves its composer. */
export type Taken = NonNullable<ReturnType<typeof takeQuestion>>

type Send = (question: Taken) => void

const locks: Locks = browserLocks() ?? new PageLocks()

/** A question that stands complete in its composer and is sent as soon as its files are read. */
class HeldQuestion {
  /** Other tabs know that it waits, and one of them may send it. */
  #shared = false
  #done = false
  #unwatch = () => {}
  readonly #unsubscribe: () => void

  constructor(
    private readonly key: string,
    private readonly conversation: Conversation,
    public send: Send,
  ) {
    this.#unsubscribe = store.sub(attachmentsAtom(key), () => this.#watch())
    this.#watch()
  }

  stop(): void {
    this.#done = true
    this.#unwatch()
    this.#unsubscribe()
    if (held.get(this.key) === this) held.delete(this.key)
  }

  #watch(): void {
    this.#unwatch()
    const attachments = readAttachments(this.key)
    if (this.#done) return
    if (!attachments.waiting) {
      this.stop()
      return
    }
    const ids = usedSources(this.conversation.state, attachments) ?? []
    this.#unwatch = watchReadiness(this.key, ids, (readiness) => this.#look(readiness))
  }

  #look(readiness: Readiness): void {
    if (this.#done) return
    this.#keep()
    if (readiness === 'reading') return
    this.stop()
    if (readiness === 'failed') setWaiting(this.key, false)
    else void locks.request(`tsumugi-held-${this.key}`, {}, () => this.#hand())
  }

  /**
   * After a reload a file that was being uploaded is missing: until it is there, only this tab knows of the question.
   */
  #keep(): void {
    if (this.#shared || isUploading(this.key)) return
    keepAttachments(this.key)
    this.#shared = isKeptWaiting(this.key)
  }

  async #hand(): Promise<void> {
    // Another tab may have sent it. Where nothing can be kept there is no other tab that knows.
    const sent = this.#shared && !isKeptWaiting(this.key)
    const waits = readAttachments(this.key).waiting
    setWaiting(this.key, false)
    if (!waits || sent) return
    const question = takeQuestion(this.key, this.conversation.state)
    if (question !== null) this.send(question)
  }
}

const held = new Map<string, HeldQuestion>()

/**
 * Sends the question of a composer by `send` when its files are read. Once the returned function has been called,
 * because the composer has left the screen, the question still waits, and is sent by `later`.
 */
export function sendWhenRead(key: string, conversation: Conversation, send: Send, later: Send): () => void {
  held.get(key)?.stop()
  const question = new HeldQuestion(key, conversation, send)
  held.set(key, question)
  return () => {
    question.send = later
  }
}
