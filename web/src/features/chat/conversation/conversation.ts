import type { Atom } from 'jotai'
import type { NewThreadProject } from '@/entities/thread/newChat'
import { withTitle } from '@/entities/thread/threads'
import type { Message, Thread } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { AnswerView, LiveAnswer, ThreadTitle } from '@/lib/stream'
import type { DecisionLists } from '../proofread/review'
import { texts } from '../texts'
import { ConversationCore } from './conversationCore'
import type { ConversationDeps, ConversationState, Place, Question } from './conversationState'
import { DecisionSaver } from './decisions'
import { MessageHistory } from './history'
import type { ModelSelection } from './modelSelection'
import { QuestionSender } from './questionSender'
import { endedMessage, isRunning, isWriting, lostMessage } from './turns'

/**
 * Conversation is a thread in this tab: its messages, and its pending questions and answers. It outlives its screen, so
 * that returning to it is immediate. Only Conversation changes its state.
 */
export class Conversation {
  readonly #core: ConversationCore
  readonly #history: MessageHistory
  readonly #questions: QuestionSender
  readonly #decisions: DecisionSaver
  #loaded = false

  constructor(
    readonly skillId: string,
    private readonly deps: ConversationDeps,
    thread: Thread | null = null,
  ) {
    this.#core = new ConversationCore(deps, thread)
    this.#history = new MessageHistory(this.#core)
    this.#questions = new QuestionSender(this.#core, this.#history, skillId)
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

  /** Whether an answer is running or requested in any branch of the thread. */
  get busyAtom(): Atom<boolean> {
    return this.#core.busyAtom
  }

  get state(): ConversationState {
    return this.#core.state
  }

  /** Whether there are messages to show without a request to the server. */
  get shown(): boolean {
    return this.#loaded || this.state.turns.length > 0
  }

  /** Shows the thread and its newest messages, and joins a running answer. */
  load(thread: Thread, page: readonly Message[]): void {
    this.#loaded = true
    this.#questions.markThreadUsed()
    // The user may have asked something during the request.
    if (this.state.turns.length > 0) void this.refresh()
    else this.#history.begin(thread, page)
  }

  /** Sets whether the new thread is temporary. It has no effect once the thread is being created. */
  setTemporary(temporary: boolean): void {
    this.#questions.setTemporary(temporary)
  }

  /** Sets the project of the new thread. It has no effect once the thread is being created. */
  setProject(project: NewThreadProject | null): void {
    this.#questions.setProject(project)
  }

  /** The end of the branch on the screen. */
  get end(): Place {
    const last = this.state.turns.findLast((turn) => !turn.pending && turn.message.role === 'assistant')
    return last === undefined ? {} : { parent_id: last.message.id }
  }

  /** Begins to edit a question; null cancels editing. */
  edit(messageId: string | null): void {
    this.#core.set({ editing: messageId })
  }

  /**
   * Asks a question at the end of the branch on the screen, or in place of another question, which begins a branch. It
   * shows the question and its answer at once, and creates the thread if necessary.
   */
  ask(question: Question, requestId = this.deps.newId(), place: Place = this.end): Promise<void> {
    return this.#questions.ask(question, requestId, place)
  }

  /** Regenerates an answer, which begins a branch. The old answer stays on the screen until the new one begins. */
  regenerate(messageId: string, requestId = this.deps.newId(), modelSelection?: ModelSelection): void {
    this.#questions.regenerate(messageId, requestId, modelSelection)
  }

  /** Drops the request for an answer whose tokens the user declined. */
  declineCost(): void {
    this.#core.set({ costly: null })
  }

  dismissFailure(): void {
    this.#core.set({ failure: null })
  }

  /** Stops the running answer, or the requested one as soon as it begins. */
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

  /** Shows the branch of a message, up to the newest message of the branch. */
  goTo(messageId: string): Promise<void> {
    return this.#history.goTo(messageId)
  }

  /** Hides the note about another branch. */
  dismissOtherBranch(): void {
    this.#core.set({ otherBranch: null })
  }

  /** Loads the page before the oldest loaded message. Calls during loading wait for the same page. */
  loadOlder(): Promise<void> {
    return this.#history.loadOlder()
  }

  /** Shows a message: loads pages until it is found, or switches to its branch. */
  async reveal(messageId: string): Promise<void> {
    if (!(await this.#history.loadUntil(messageId)) && this.state.older === 'end') await this.goTo(messageId)
  }

  /** Loads pages until a message is found, and reports whether the message is part of the branch. */
  loadUntil(messageId: string): Promise<boolean> {
    return this.#history.loadUntil(messageId)
  }

  /** Loads all messages, for saving and printing. */
  loadAll(): Promise<void> {
    return this.#history.loadAll()
  }

  /** Loads the newest messages again, after a change in another tab or the end of an answer. */
  refresh(limit?: number): Promise<void> {
    return this.#history.refresh(limit)
  }

  /** Shows the branch that the user viewed last on any device. */
  reopen(): Promise<void> {
    return this.#history.reopen()
  }

  /** Handles the server's event about a message: asked, begun, finished or rated on any device. */
  handleMessage(message: LiveMessage): void {
    this.#history.handleMessage(message)
  }

  /** Handles a new title of the thread or the end of its answer. */
  handleThread(thread: Thread): void {
    this.#history.handleThread(thread)
  }

  /** Handles the deletion of the thread. */
  handleDeletion(): void {
    this.#history.handleDeletion()
  }

  /** Handles the title in an answer's stream. */
  handleTitle(title: ThreadTitle): void {
    const { thread } = this.state
    if (thread !== null) this.#core.set({ thread: withTitle(thread, title) })
  }

  /** Handles the server's acceptance of a question: the optimistic turns get its ids. */
  handleStart(live: LiveAnswer, view: AnswerView): void {
    const { messageId } = view
    if (messageId === null) return
    this.#questions.handleStart(live, view, messageId)
    if (this.state.stopping) void this.#stopMessage(messageId)
  }

  /** Handles the end of a stream. The text becomes the message until the server's record is loaded. */
  handleEnd(live: LiveAnswer, view: AnswerView, text: string): void {
    const { ending } = view
    const turn = this.state.turns.find((item) => item.live === live || item.successor === live)
    const threadId = this.state.thread?.id
    if (ending === null || threadId === undefined) return
    if (turn === undefined) {
      // The answer's branch is not on the screen.
      if (view.messageId !== null && view.messageId === this.state.otherBranch?.id)
        this.#history.finishOtherBranch()
      this.deps.events.onRunning(threadId, false)
      return
    }
    this.#core.version++
    this.deps.events.onRunning(threadId, false)
    this.#core.set({ stopping: false })
    if (ending.kind === 'failed' && view.messageId === null) {
      this.#questions.handleRefusal(turn, live, ending.failure)
      return
    }
    if (ending.kind === 'done') {
      const reasoning = this.deps.store.get(live.reasoningAtom)
      const message = endedMessage(turn.message, view, text, reasoning, this.deps.now())
      this.#core.patch(turn.key, { live: null, successor: null, message })
      void this.#history.refresh(2)
      return
    }
    // The stream has nothing left or is inconsistent, so load the stored message. Until then keep the text.
    void this.#history.refresh(2).then(() => this.#settle(turn.key, text))
  }

  /** Completes a turn whose stream had no ending: with the stored message, or as lost with the received text. */
  #settle(key: string, text: string): void {
    const message = this.state.turns.find((turn) => turn.key === key)?.message
    if (message === undefined) return
    const lost = isRunning(message) ? lostMessage(message, text, texts.failure.lost) : message
    this.#core.patch(key, { live: null, successor: null, message: lost })
  }

  /** Rates an answer; null withdraws the rating. The rating is shown at once and reverted on failure. */
  async rate(
    messageId: string,
    rating: 'good' | 'bad' | null,
    comment = '',
    withText = false,
  ): Promise<boolean> {
    const rated = () => this.#message(messageId)
    if (rated() === undefined) return false
    const before = rated()?.feedback
    const feedback =
      rating === null
        ? undefined
        : { rating, ...(comment && { comment }), ...(withText && { with_text: true }) }
    this.#setFeedback(messageId, feedback)
    try {
      if (feedback === undefined) await this.deps.api.withdrawFeedback(messageId)
      else await this.deps.api.giveFeedback({ message_id: messageId, ...feedback })
      this.#core.version++
      // A page that was requested before the rating has reverted it.
      if (JSON.stringify(rated()?.feedback) !== JSON.stringify(feedback)) void this.refresh()
      return true
    } catch (cause) {
      this.#setFeedback(messageId, before)
      this.deps.events.onTrouble(
        'feedback',
        () => void this.rate(messageId, rating, comment, withText),
        cause,
      )
      return false
    }
  }

  /** Requests questions that may follow an answer. Without any, and on a failure, nothing is shown. */
  async suggest(messageId: string): Promise<void> {
    const suggestions = await this.deps.api.suggestQuestions(messageId).catch(() => [])
    if (suggestions.length > 0) this.#changeMessage(messageId, (message) => ({ ...message, suggestions }))
  }

  /** The unsaved decisions about proofread texts, by message id. */
  get decisionsAtom(): DecisionSaver['atom'] {
    return this.#decisions.atom
  }

  /** Sets the decisions about a proofread text. They are shown at once and saved soon. */
  decide(messageId: string, decided: DecisionLists): void {
    this.#decisions.decide(messageId, decided)
  }

  /** Saves the decisions at once, and reports whether the server has all of them. */
  storeDecisions(messageId: string): Promise<boolean> {
    return this.#decisions.flush(messageId)
  }

  /** Prepares for the page to close. */
  leave(): void {
    this.#decisions.flushAll()
  }

  #decided(messageId: string, decided: DecisionLists): void {
    const decisions = { accepted: [...decided.accepted], refused: [...decided.refused] }
    this.#changeMessage(messageId, (message) => {
      const { proofread } = message
      return proofread === undefined ? message : { ...message, proofread: { ...proofread, decisions } }
    })
  }

  #setFeedback(messageId: string, feedback: Message['feedback']): void {
    this.#changeMessage(messageId, ({ feedback: _, ...rest }) => (feedback ? { ...rest, feedback } : rest))
  }

  #message(id: string): Message | undefined {
    return this.state.turns.find(({ message }) => message.id === id)?.message
  }

  #changeMessage(id: string, change: (message: Message) => Message): void {
    const turn = this.state.turns.find(({ message }) => message.id === id)
    if (turn === undefined) return
    this.#core.version++
    this.#core.patch(turn.key, { message: change(turn.message) })
  }
}
