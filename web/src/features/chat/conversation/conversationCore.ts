import { type Atom, atom, type PrimitiveAtom } from 'jotai'
import type { Thread } from '@/lib/api'
import { type ConversationDeps, type ConversationState, isBusy } from './conversationState'
import type { Turn } from './turns'

/** ConversationCore is the shared state of a conversation, with a version to detect outdated pages. */
export class ConversationCore {
  readonly atom: PrimitiveAtom<ConversationState>
  /** Whether an answer is running or requested in any branch of the thread. */
  readonly busyAtom: Atom<boolean>
  /** The ids of messages whose events arrived while a question was pending, and which may be that question's. */
  readonly unmatchedEvents = new Set<string>()
  /**
   * Increases when an answer begins or ends and when one is rated. A page requested before an increase may be outdated.
   */
  version = 0

  constructor(
    readonly deps: ConversationDeps,
    thread: Thread | null,
  ) {
    this.atom = atom<ConversationState>({
      thread,
      turns: [],
      otherBranch: null,
      editing: null,
      older: 'end',
      failure: null,
      costly: null,
      stopping: false,
      gone: false,
      temporary: thread?.expires_at !== undefined,
      project: null,
    })
    this.busyAtom = atom((get) => isBusy(get(this.atom)))
  }

  get state(): ConversationState {
    return this.deps.store.get(this.atom)
  }

  set(change: Partial<ConversationState>): void {
    this.deps.store.set(this.atom, { ...this.state, ...change })
  }

  patch(key: string, change: Partial<Turn>): void {
    this.set({ turns: this.state.turns.map((turn) => (turn.key === key ? { ...turn, ...change } : turn)) })
  }
}

/** unknownMessage represents an event about unknown messages. */
export const unknownMessage = '*'
