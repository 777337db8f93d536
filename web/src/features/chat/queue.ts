import { atom, type PrimitiveAtom } from 'jotai'
import type { Picture } from '@/lib/api'
import { followKept, readKept, writeKept } from '@/lib/browser/kept'
import { store } from '@/lib/ui/store'
import type { Wish } from './wishes'

/** A question that waits for the answer before it. */
export interface Queued {
  /** Becomes the request id, so that the server takes the question once, whichever tab sends it. */
  readonly id: string
  readonly content: string
  /** The data sources that it is to be answered from. */
  readonly sources?: readonly string[]
  readonly pictures?: readonly Picture[]
  /** The model that was chosen for it. */
  readonly wish?: Wish
  /** The question that it waits behind: it is sent where that one is on the screen. */
  readonly after?: string
  /** The answer that it follows, once it has been sent: when it is sent again it is the same question. */
  readonly parent?: string
  /** It could not be sent, and waits for its author. */
  readonly failed?: true
}

type Queue = readonly Queued[]

/** The most questions that wait in a thread. */
export const maxQueued = 10

const prefix = 'queue:'
const queues = new Map<string, PrimitiveAtom<Queue>>()

/** The questions that wait in a thread, the next one first. They outlive the tab, and all tabs have the same. */
export function queueAtom(threadId: string): PrimitiveAtom<Queue> {
  const known = queues.get(threadId)
  if (known !== undefined) return known
  const made = atom<Queue>(parse(readKept(prefix + threadId)))
  queues.set(threadId, made)
  return made
}

export function readQueue(threadId: string): Queue {
  return store.get(queueAtom(threadId))
}

export function enqueue(
  threadId: string,
  question: Pick<Queued, 'content' | 'sources' | 'pictures' | 'wish'>,
  after: string | undefined,
): void {
  const item: Queued = { id: crypto.randomUUID(), ...question, ...(after !== undefined && { after }) }
  write(threadId, [...readQueue(threadId), item])
}

/** Says that a question is called otherwise from now on: the server has it. */
export function settleQueue(threadId: string, ahead: string, id: string): void {
  change(threadId, (item) => (item.after === ahead ? { ...item, after: id } : item))
}

/** Notes which answer a question follows that is being sent. */
export function placeQueued(threadId: string, id: string, parent: string): void {
  change(threadId, (item) => (item.id === id ? { ...item, parent } : item))
}

/** Takes a question out of the queue. */
export function dequeue(threadId: string, id: string): void {
  write(
    threadId,
    readQueue(threadId).filter((item) => item.id !== id),
  )
}

/** Keeps a question that could not be sent from being sent again by itself. */
export function holdBack(threadId: string, id: string): void {
  change(threadId, (item) => (item.id === id ? { ...item, failed: true } : item))
}

/** Empties a queue and returns what waited there. */
export function emptyQueue(threadId: string): readonly string[] {
  const contents = readQueue(threadId).map((item) => item.content)
  if (contents.length > 0) write(threadId, [])
  return contents
}

function change(threadId: string, how: (item: Queued) => Queued): void {
  const before = readQueue(threadId)
  const after = before.map(how)
  if (after.some((item, i) => item !== before[i])) write(threadId, after)
}

function write(threadId: string, items: Queue): void {
  store.set(queueAtom(threadId), items)
  writeKept(prefix + threadId, items.length === 0 ? '' : JSON.stringify(items))
}

function parse(text: string): Queue {
  try {
    const items: unknown = JSON.parse(text)
    return Array.isArray(items) ? items.filter(isQueued) : []
  } catch {
    return []
  }
}

function isQueued(item: unknown): item is Queued {
  const { id, content } = (item ?? {}) as Partial<Queued>
  return typeof id === 'string' && typeof content === 'string'
}

followKept((name, value) => {
  if (!name.startsWith(prefix)) return
  const known = queues.get(name.slice(prefix.length))
  if (known !== undefined) store.set(known, parse(value))
})
