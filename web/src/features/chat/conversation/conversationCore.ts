import { type Atom, atom, type PrimitiveAtom } from 'jotai'
import type { Thread } from '@/lib/api'
import { type ConversationDeps, type ConversationState, isBusy, type Place } from './conversationState'
import type { Turn } from './turns'

/** ConversationCore holds the state of a conversation, with a version to detect outdated pages. */
export class ConversationCore {
  readonly stateAtom: Atom<ConversationState>
  readonly #atom: PrimitiveAtom<ConversationState>
  /** Whether an answer is running or requested in any branch of the thread. */
  readonly busyAtom: Atom<boolean>
  /** The ids of messages whose events arrived while a question was pending, and which may be that question's. */
  protected readonly unmatchedEvents = new Set<string>()
  /**
   * Increases when an answer begins or ends and when one is rated. A page requested before an increase may be outdated.
   */
  protected version = 0

  constructor(
    readonly skillId: string,
    protected readonly deps: ConversationDeps,
    thread: Thread | null = null,
  ) {
    this.#atom = atom<ConversationState>({
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
    this.stateAtom = this.#atom
    this.busyAtom = atom((get) => isBusy(get(this.stateAtom)))
  }

  get state(): ConversationState {
    return this.deps.store.get(this.#atom)
  }

  /** The end of the branch on the screen. */
  get end(): Place {
    const last = this.state.turns.findLast((turn) => !turn.pending && turn.message.role === 'assistant')
    return last === undefined ? {} : { parent_id: last.message.id }
  }

  protected set(change: Partial<ConversationState>): void {
    this.deps.store.set(this.#atom, { ...this.state, ...change })
  }

  protected patch(key: string, change: Partial<Turn>): void {
    this.set({ turns: this.state.turns.map((turn) => (turn.key === key ? { ...turn, ...change } : turn)) })
  }
}

/** unknownMessage represents an event about unknown messages. */
export const unknownMessage = '*'
