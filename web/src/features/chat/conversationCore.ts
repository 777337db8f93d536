import { type Atom, atom, type PrimitiveAtom } from 'jotai'
import type { Thread } from '@/lib/api'
import { type ConversationDeps, type ConversationState, isBusy } from './conversationState'
import type { Turn } from './turns'

/** What the parts of a conversation share: its state, and what tells whether a page that was read is out of date. */
export class ConversationCore {
  readonly atom: PrimitiveAtom<ConversationState>
  /** Whether an answer is being written or asked for in the thread, in whichever branch. */
  readonly busyAtom: Atom<boolean>
  /** What was told while a question was on its way, and may have been about that question. */
  readonly heard = new Set<string>()
  /** Grows with what begins, ends or is rated here: a page that was asked for before that may be from before it. */
  version = 0

  constructor(
    readonly deps: ConversationDeps,
    thread: Thread | null,
  ) {
    this.atom = atom<ConversationState>({
      thread,
      turns: [],
      elsewhere: null,
      editing: null,
      older: 'end',
      failure: null,
      costly: null,
      stopping: false,
      gone: false,
      temporary: thread?.expires_at !== undefined,
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

/** Stands for news of which it is not known what they are about. */
export const anything = '*'
