import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { store } from '@/lib/ui/store'
import type { Conversation } from './conversation'
import { isBusy } from './conversationState'
import { dequeue, holdBack, placeQueued, type Queued, readQueue } from './queue'
import { aheadId, isRunning, isWriting } from './turns'

/**
 * Sends what waits in a thread's queue, one question after each answer. The tabs of a browser take turns by a lock that
 * is held until the answer is over, so that no tab sends on what it knows from before.
 */
export class QueueSender {
  /** The threads for which this tab has the lock or waits for it. */
  readonly #busy = new Set<string>()

  constructor(private readonly locks: Locks = browserLocks() ?? new PageLocks()) {}

  /** Sends until the conversation is left, whenever an answer has ended well. */
  follow(conversation: Conversation): () => void {
    void this.send(conversation)
    return store.sub(conversation.stateAtom, () => void this.send(conversation))
  }

  /**
   * Sends the next question, if there is one and its turn has come. With `asked` its author wants it sent although the
   * answer before it was stopped or has failed.
   */
  async send(conversation: Conversation, asked = false): Promise<void> {
    const threadId = conversation.state.thread?.id
    if (threadId === undefined || this.#busy.has(threadId) || nextOf(conversation, asked) === null) return
    this.#busy.add(threadId)
    try {
      await this.locks.request(`tsumugi-queue-${threadId}`, {}, async () => {
        // Another tab may have sent the one before meanwhile: the next one follows that.
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

/** What is to be sent now, or null. After an answer that was stopped or has failed the author decides. */
function nextOf(conversation: Conversation, asked: boolean): Queued | null {
  const { thread, turns, gone, failure } = conversation.state
  const last = turns.at(-1)
  const next = thread === null || gone ? undefined : readQueue(thread.id)[0]
  if (next === undefined || last === undefined) return null
  if (last.pending || isBusy(conversation.state) || isRunning(last.message)) return null
  const due = !next.failed && failure === null && endedWell(conversation) && isHere(conversation, next)
  return asked || due ? next : null
}

/** Whether a question that waits belongs to the branch on the screen. */
export function isHere({ state }: Conversation, { after }: Queued): boolean {
  // One that was on its way when its tab was closed is not known by its id.
  return after?.startsWith(aheadId('')) !== false || state.turns.some((turn) => turn.message.id === after)
}

/** Whether the last answer was neither stopped nor broken off: what waits behind it goes out by itself. */
export function endedWell(conversation: Conversation): boolean {
  const message = conversation.state.turns.at(-1)?.message
  return message?.status === 'success' && message.finish_reason !== 'stopped'
}

/** Asks, and returns when the turn is over. */
async function ask(conversation: Conversation, threadId: string, queued: Queued): Promise<void> {
  const { id, content, sources, pictures, wish } = queued
  const place = queued.parent === undefined ? conversation.end : { parent_id: queued.parent }
  if ('parent_id' in place && place.parent_id !== queued.parent) placeQueued(threadId, id, place.parent_id)
  const onTaken = () => dequeue(threadId, id)
  const onLost = () => holdBack(threadId, id)
  const question = {
    kind: 'text',
    content,
    ...(sources && { sources }),
    ...(pictures && { pictures }),
    ...(wish && { wish }),
    onTaken,
    onLost,
  } as const
  void conversation.ask(question, id, place)
  await new Promise<void>((resolve) => {
    const look = () => {
      if (isWriting(conversation.state.turns.at(-1))) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = store.sub(conversation.stateAtom, look)
    look()
  })
  // Nothing told whether it was taken: it is not sent again unasked.
  onLost()
}
