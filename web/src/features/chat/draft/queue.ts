import { storedAtoms } from '@/lib/browser/storedAtoms'
import { store } from '@/lib/ui/store'
import type { QuestionContent } from '../conversation/conversationState'
import type { ModelSelection } from '../conversation/modelSelection'

/** Queued is a question that waits for the running answer. */
export interface Queued extends QuestionContent {
  /** The request id, so that the server accepts the question once, even if several tabs send it. */
  readonly id: string
  /** The chosen model. */
  readonly modelSelection?: ModelSelection
  /** The id of the preceding question. The queued question is sent only in that question's branch. */
  readonly after?: string
  /** The id of the answer that the question follows, set when it is sent. A retry then is the same request. */
  readonly parent?: string
  /** Whether sending failed. The question then waits for the user. */
  readonly failed?: true
}

type Queue = readonly Queued[]

/** maxQueued is the maximum number of queued questions in a thread. */
export const maxQueued = 10

/**
 * queueAtom returns the queued questions of a thread in order. They are stored in the browser and shared by all tabs.
 */
export const queueAtom = storedAtoms<Queue>('queue:', {
  parse,
  format: (items) => (items.length === 0 ? '' : JSON.stringify(items.map(toStored))),
  follows: () => true,
})

export function readQueue(threadId: string): Queue {
  return store.get(queueAtom(threadId))
}

/** enqueue appends a question to the queue. A question that was sent before keeps its id. */
export function enqueue(
  threadId: string,
  question: Omit<Queued, 'id' | 'after'> & Partial<Pick<Queued, 'id'>>,
  after: string | undefined,
): void {
  const item: Queued = { id: crypto.randomUUID(), ...question, ...(after !== undefined && { after }) }
  write(threadId, [...readQueue(threadId), item])
}

/** replaceOptimisticId replaces the optimistic id of a question by the server's id. */
export function replaceOptimisticId(threadId: string, ahead: string, id: string): void {
  change(threadId, (item) => (item.after === ahead ? { ...item, after: id } : item))
}

/** setQueuedParent stores the id of the answer that a question being sent follows. */
export function setQueuedParent(threadId: string, id: string, parent: string): void {
  change(threadId, (item) => (item.id === id ? { ...item, parent } : item))
}

/** dequeue removes a question from the queue. */
export function dequeue(threadId: string, id: string): void {
  write(
    threadId,
    readQueue(threadId).filter((item) => item.id !== id),
  )
}

/** markFailed marks a question as failed, which prevents automatic sending. */
export function markFailed(threadId: string, id: string): void {
  change(threadId, (item) => (item.id === id ? { ...item, failed: true } : item))
}

/** clearQueue empties a queue and returns its questions. */
export function clearQueue(threadId: string): Queue {
  const items = readQueue(threadId)
  if (items.length > 0) write(threadId, [])
  return items
}

function change(threadId: string, how: (item: Queued) => Queued): void {
  const before = readQueue(threadId)
  const after = before.map(how)
  if (after.some((item, i) => item !== before[i])) write(threadId, after)
}

function write(threadId: string, items: Queue): void {
  store.set(queueAtom(threadId), items)
}

/** The stored form of a question, where the model selection is named `wish`. */
type Stored = Omit<Queued, 'modelSelection'> & { readonly wish?: ModelSelection }

function toStored({ modelSelection, ...item }: Queued): Stored {
  return { ...item, ...(modelSelection && { wish: modelSelection }) }
}

function fromStored({ wish, ...item }: Stored): Queued {
  return { ...item, ...(wish && { modelSelection: wish }) }
}

function parse(text: string): Queue {
  try {
    const items: unknown = JSON.parse(text)
    return Array.isArray(items) ? items.filter(isStored).map(fromStored) : []
  } catch {
    return []
  }
}

function isStored(item: unknown): item is Stored {
  const { id, content } = (item ?? {}) as Partial<Stored>
  return typeof id === 'string' && typeof content === 'string'
}
