import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import type { QuestionContent } from '../conversation/conversationState'
import {
  attachmentsAtom,
  isWaitingStored,
  readAttachments,
  setWaiting,
  storeAttachments,
} from './attachments'
import { isUploading, type Readiness, takeQuestion, usedSources, watchReadiness } from './questionFiles'

type Send = (question: QuestionContent) => void

const locks: Locks = browserLocks() ?? new PageLocks()

/** PendingQuestion is a complete question in its composer. It sends the question once its files are parsed. */
class PendingQuestion {
  /** Whether the question is shared with other tabs. One of them may send it. */
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
    if (pending.get(this.key) === this) pending.delete(this.key)
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
    this.#unwatch = watchReadiness(this.key, ids, (readiness) => this.#handleReadiness(readiness))
  }

  #handleReadiness(readiness: Readiness): void {
    if (this.#done) return
    this.#shareWithTabs()
    if (readiness === 'reading') return
    this.stop()
    if (readiness === 'failed') setWaiting(this.key, false)
    else void locks.request(`tsumugi-held-${this.key}`, {}, () => this.#sendOnce())
  }

  /** Shares the question with other tabs unless an upload is pending. A pending upload is lost on a reload. */
  #shareWithTabs(): void {
    if (this.#shared || isUploading(this.key)) return
    storeAttachments(this.key)
    this.#shared = isWaitingStored(this.key)
  }

  async #sendOnce(): Promise<void> {
    // Another tab may have sent it. Without storage, other tabs cannot see it.
    const sent = this.#shared && !isWaitingStored(this.key)
    const waits = readAttachments(this.key).waiting
    setWaiting(this.key, false)
    if (!waits || sent) return
    const question = takeQuestion(this.key, this.conversation.state)
    if (question !== null) this.send(question)
  }
}

const pending = new Map<string, PendingQuestion>()

/**
 * sendWhenReady sends the question of a composer with `send` once its files are parsed. The returned function is called
 * when the composer leaves the screen. The question then keeps waiting, and `later` sends it.
 */
export function sendWhenReady(key: string, conversation: Conversation, send: Send, later: Send): () => void {
  pending.get(key)?.stop()
  const question = new PendingQuestion(key, conversation, send)
  pending.set(key, question)
  return () => {
    question.send = later
  }
}
