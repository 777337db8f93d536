import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import { isBusy } from '../conversation/conversationState'
import { isRunning, isWriting, optimisticId } from '../conversation/turns'
import { dequeue, markFailed, type Queued, readQueue, setQueuedParent } from './queue'

/**
 * QueueSender sends the queue of a thread, one question after each answer. A tab holds a lock until the answer ends, so
 * that no other tab sends from an outdated state.
 */
export class QueueSender {
  /** The threads whose lock this tab has or waits for. */
  readonly #busy = new Set<string>()

  constructor(private readonly locks: Locks = browserLocks() ?? new PageLocks()) {}

  /** Sends the next question after each successful answer, until the returned function is called. */
  follow(conversation: Conversation): () => void {
    void this.send(conversation)
    return store.sub(conversation.stateAtom, () => void this.send(conversation))
  }

  /**
   * Sends the next question if it is due. If `asked`, the user wants to send it although the previous answer was
   * stopped or failed.
   */
  async send(conversation: Conversation, asked = false): Promise<void> {
    const threadId = conversation.state.thread?.id
    if (threadId === undefined || this.#busy.has(threadId) || nextOf(conversation, asked) === null) return
    this.#busy.add(threadId)
    try {
      await this.locks.request(`tsumugi-queue-${threadId}`, {}, async () => {
        // Another tab may have sent a question in the meantime; the next one follows it.
        await conversation.refresh()
        const next = nextOf(conversation, asked)
        if (next !== null) await ask(conversation, threadId, next)
      })
    } finally {
      this.#busy.delete(threadId)
    }
    await this.send(conversation)
  }
}

/**
 * nextOf returns the question to send now, or null. After an answer that was stopped or failed, the user must decide.
 */
function nextOf(conversation: Conversation, asked: boolean): Queued | null {
  const { thread, turns, gone, failure } = conversation.state
  const last = turns.at(-1)
  const next = thread === null || gone ? undefined : readQueue(thread.id)[0]
  if (next === undefined || isBusy(conversation.state)) return null
  if (last !== undefined && (last.pending || isRunning(last.message))) return null
  const due =
    !next.failed && failure === null && isLastAnswerComplete(conversation) && isOnBranch(conversation, next)
  return asked || due ? next : null
}

/** isOnBranch reports whether a queued question belongs to the branch on the screen. */
export function isOnBranch({ state }: Conversation, { after }: Queued): boolean {
  // If the tab was closed while it sent the preceding question, the id of that question is unknown.
  return (
    after?.startsWith(optimisticId('')) !== false || state.turns.some((turn) => turn.message.id === after)
  )
}

/** isLastAnswerComplete reports whether the last answer is complete. The queue then continues by itself. */
export function isLastAnswerComplete(conversation: Conversation): boolean {
  const message = conversation.state.turns.at(-1)?.message
  return message?.status === 'success' && message.finish_reason !== 'stopped'
}

/** ask sends a question and returns at the end of its answer. */
async function ask(conversation: Conversation, threadId: string, queued: Queued): Promise<void> {
  const { id, parent, after: _, failed: __, ...content } = queued
  const place = parent === undefined ? conversation.end : { parent_id: parent }
  if ('parent_id' in place && place.parent_id !== parent) setQueuedParent(threadId, id, place.parent_id)
  const onTaken = () => dequeue(threadId, id)
  const onLost = () => markFailed(threadId, id)
  void conversation.ask({ kind: 'text', ...content, onTaken, onLost }, id, place)
  await new Promise<void>((resolve) => {
    const look = () => {
      if (isWriting(conversation.state.turns.at(-1))) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = store.sub(conversation.stateAtom, look)
    look()
  })
  // It is unknown whether the server accepted the question, so do not send it again automatically.
  onLost()
}
