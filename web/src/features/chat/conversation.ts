import type { Atom } from 'jotai'
import { withTitle } from '@/entities/thread/threads'
import type { Message, Thread } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { AnswerView, LiveAnswer, ThreadTitle } from '@/lib/stream'
import { Asking } from './asking'
import { ConversationCore } from './conversationCore'
import type { ConversationDeps, ConversationState, Place, Question } from './conversationState'
import { DecisionSaver } from './decisions'
import { MessageHistory } from './history'
import type { DecisionLists } from './proofread/review'
import { texts } from './texts'
import { endedMessage, isRunning, isWriting, lostMessage } from './turns'
import type { Wish } from './wishes'

/**
 * One thread as this tab knows it: its messages, and what is being asked and written. It lives on when its screen is
 * left, so that coming back shows it at once, and is the only place that changes its state.
 */
export class Conversation {
  readonly #core: ConversationCore
  readonly #history: MessageHistory
  readonly #asking: Asking
  readonly #decisions: DecisionSaver
  #loaded = false

  constructor(
    readonly skillId: string,
    private readonly deps: ConversationDeps,
    thread: Thread | null = null,
  ) {
    this.#core = new ConversationCore(deps, thread)
    this.#history = new MessageHistory(this.#core)
    this.#asking = new Asking(this.#core, this.#history, skillId, {
      onUnused: (unused) => deps.events.onUnused(this, unused),
      onLost: (failure) => deps.events.onQuestionLost(this, failure),
      onRetried: (question) => deps.events.onQuestionRetried(this, question),
    })
    this.#decisions = new DecisionSaver(deps.store, deps.api.decideChanges, {
      onSaved: (messageId, decided) => this.#decided(messageId, decided),
      onRefused: (messageId, decided, cause) => {
        deps.events.onTrouble('decide', () => this.decide(messageId, decided), cause)
        void this.refresh()
      },
    })
  }

  get stateAtom(): Atom<ConversationState> {
    return this.#core.atom
  }

  /** Whether an answer is being written or asked for in the thread, in whichever branch. */
  get busyAtom(): Atom<boolean> {
    return this.#core.busyAtom
  }

  get state(): ConversationState {
    return this.#core.state
  }

  /** Whether there is something to show without asking the server. */
  get shown(): boolean {
    return this.#loaded || this.state.turns.length > 0
  }

  /** Takes the thread and its newest messages as the server told them, and joins an answer that is being written. */
  load(thread: Thread, page: readonly Message[]): void {
    this.#loaded = true
    this.#asking.used()
    // Something may have been asked here while this was read.
    if (this.state.turns.length > 0) void this.refresh()
    else this.#history.begin(thread, page)
  }

  /** Chooses what the thread is to be, as long as none is being made. */
  setTemporary(temporary: boolean): void {
    this.#asking.setTemporary(temporary)
  }

  /** The end of the branch on the screen. */
  get end(): Place {
    const last = this.state.turns.findLast((turn) => !turn.pending && turn.message.role === 'assistant')
    return last === undefined ? {} : { parent_id: last.message.id }
  }

  /** Begins to edit a question, or with null leaves it as it is. */
  edit(messageId: string | null): void {
    this.#core.set({ editing: messageId })
  }

  /**
   * Asks, at the end of the branch on the screen or in place of another question, which begins a branch. Shows the
   * question and the place of the answer at once; makes the thread if there is none yet.
   */
  ask(question: Question, requestId = this.deps.newId(), place: Place = this.end): Promise<void> {
    return this.#asking.ask(question, requestId, place)
  }

  /** Has an answer asked again, which begins a branch. The old one stays on the screen until the new one has begun. */
  regenerate(messageId: string, requestId = this.deps.newId(), wish?: Wish): void {
    this.#asking.regenerate(messageId, requestId, wish)
  }

  /** Drops an answer whose tokens the user does not accept. */
  declineCost(): void {
    this.#core.set({ costly: null })
  }

  dismissFailure(): void {
    this.#core.set({ failure: null })
  }

  /** Stops the answer that is being written, or the one that is about to begin. */
  async stop(): Promise<void> {
    const turn = this.state.turns.at(-1)
    if (turn === undefined || !isWriting(turn) || this.state.stopping) return
    this.#core.set({ stopping: true })
    const live = turn.live ?? turn.successor
    const id = live === null ? null : this.deps.store.get(live.viewAtom).messageId
    if (id !== null) await this.#stopMessage(id)
  }

  async #stopMessage(messageId: string): Promise<void> {
    try {
      await this.deps.api.stopMessage(messageId)
    } catch (cause) {
      this.#core.set({ stopping: false })
      this.deps.events.onTrouble('stop', () => void this.stop(), cause)
    }
  }

  /** Shows the branch that a message is in, up to its newest message, in place of the one on the screen. */
  goTo(messageId: string): Promise<void> {
    return this.#history.goTo(messageId)
  }

  /** The reader does not want to see what is elsewhere. */
  dismissElsewhere(): void {
    this.#core.set({ elsewhere: null })
  }

  /** Reads the page before the oldest message at hand. A call made while it is being read waits for the same page. */
  loadOlder(): Promise<void> {
    return this.#history.loadOlder()
  }

  /** Has a message on the screen: reads until it is at hand, or goes to the branch that it is in. */
  async reveal(messageId: string): Promise<void> {
    if (!(await this.#history.loadUntil(messageId)) && this.state.older === 'end') await this.goTo(messageId)
  }

  /** Reads until a message is at hand; answers whether it is part of the branch. */
  loadUntil(messageId: string): Promise<boolean> {
    return this.#history.loadUntil(messageId)
  }

  /** Reads all there is, for saving and printing. */
  loadAll(): Promise<void> {
    return this.#history.loadAll()
  }

  /** Reads the newest messages again: something has changed elsewhere, or an answer has ended. */
  refresh(limit?: number): Promise<void> {
    return this.#history.refresh(limit)
  }

  /** Shows the branch that was looked at last, here or elsewhere: the reader has just come. */
  reopen(): Promise<void> {
    return this.#history.reopen()
  }

  /** The server has told of a message: asked, begun, ended or rated, here or on another device. */
  told(message: LiveMessage): void {
    this.#history.told(message)
  }

  /** The thread is called otherwise now, or its answer has ended. */
  changed(thread: Thread): void {
    this.#history.changed(thread)
  }

  /** The thread is gone. */
  vanished(): void {
    this.#history.vanished()
  }

  /** A stream has told what the thread is called. */
  titled(title: ThreadTitle): void {
    const { thread } = this.state
    if (thread !== null) this.#core.set({ thread: withTitle(thread, title) })
  }

  /** The server has taken a question: what was shown ahead gets its ids. */
  started(live: LiveAnswer, view: AnswerView): void {
    const { messageId } = view
    if (messageId === null) return
    this.#asking.started(live, view, messageId)
    if (this.state.stopping) void this.#stopMessage(messageId)
  }

  /** A stream is over: its text becomes the message, and the server is asked for its record of it. */
  ended(live: LiveAnswer, view: AnswerView, text: string): void {
    const { ending } = view
    const turn = this.state.turns.find((item) => item.live === live || item.successor === live)
    const threadId = this.state.thread?.id
    if (ending === null || threadId === undefined) return
    if (turn === undefined) {
      // Its branch is not on the screen.
      if (view.messageId !== null && view.messageId === this.state.elsewhere?.id)
        this.#history.settleElsewhere()
      this.deps.events.onRunning(threadId, false)
      return
    }
    this.#core.version++
    this.deps.events.onRunning(threadId, false)
    this.#core.set({ stopping: false })
    if (ending.kind === 'failed' && view.messageId === null) {
      this.#asking.refused(turn, live, ending.failure)
      return
    }
    if (ending.kind === 'done') {
      const reasoning = this.deps.store.get(live.reasoningAtom)
      const message = endedMessage(turn.message, view, text, reasoning, this.deps.now())
      this.#core.patch(turn.key, { live: null, successor: null, message })
      void this.#history.refresh(2)
      return
    }
    // Nothing more to stream, or no sense to be made of it: the stored message tells. Until then the text stays.
    void this.#history.refresh(2).then(() => this.#settle(turn.key, text))
  }

  /** Ends a turn whose stream told no ending: by what is stored, or as lost with the text that came. */
  #settle(key: string, text: string): void {
    const message = this.state.turns.find((turn) => turn.key === key)?.message
    if (message === undefined) return
    const lost = isRunning(message) ? lostMessage(message, text, texts.failure.lost) : message
    this.#core.patch(key, { live: null, successor: null, message: lost })
  }

  /** Rates an answer, or with null withdraws the rating: shown at once, taken back if it fails. */
  async rate(
    messageId: string,
    rating: 'good' | 'bad' | null,
    comment = '',
    withText = false,
  ): Promise<boolean> {
    const turn = this.state.turns.find((item) => item.message.id === messageId)
    if (turn === undefined) return false
    const before = turn.message.feedback
    const feedback =
      rating === null
        ? undefined
        : { rating, ...(comment && { comment }), ...(withText && { with_text: true }) }
    this.#patchFeedback(turn.key, feedback)
    try {
      if (feedback === undefined) await this.deps.api.withdrawFeedback(messageId)
      else await this.deps.api.giveFeedback({ message_id: messageId, ...feedback })
      this.#core.version++
      const now = this.state.turns.find((item) => item.key === turn.key)?.message.feedback
      // A page that was read before the server had it has taken it back.
      if (JSON.stringify(now) !== JSON.stringify(feedback)) void this.refresh()
      return true
    } catch (cause) {
      this.#patchFeedback(turn.key, before)
      this.deps.events.onTrouble(
        'feedback',
        () => void this.rate(messageId, rating, comment, withText),
        cause,
      )
      return false
    }
  }

  /** What is decided about proofread texts and not stored yet, by message. */
  get decisionsAtom(): DecisionSaver['atom'] {
    return this.#decisions.atom
  }

  /** Decides about the changes of a proofread text: shown at once, stored soon. */
  decide(messageId: string, decided: DecisionLists): void {
    this.#decisions.decide(messageId, decided)
  }

  /** Stores at once what is decided; answers whether the server has all of it. */
  storeDecisions(messageId: string): Promise<boolean> {
    return this.#decisions.flush(messageId)
  }

  /** The page may be closed. */
  leave(): void {
    this.#decisions.flushAll()
  }

  #decided(messageId: string, decided: DecisionLists): void {
    const turn = this.state.turns.find(({ message }) => message.id === messageId)
    if (turn?.message.proofread === undefined) return
    this.#core.version++
    const decisions = { accepted: [...decided.accepted], refused: [...decided.refused] }
    const proofread = { ...turn.message.proofread, decisions }
    this.#core.patch(turn.key, { message: { ...turn.message, proofread } })
  }

  #patchFeedback(key: string, feedback: Message['feedback']): void {
    const turn = this.state.turns.find((item) => item.key === key)
    if (turn === undefined) return
    this.#core.version++
    const { feedback: _, ...rest } = turn.message
    this.#core.patch(key, { message: feedback ? { ...rest, feedback } : rest })
  }
}
