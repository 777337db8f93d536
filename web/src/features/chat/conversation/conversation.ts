import { withTitle } from '@/entities/thread/threads'
import type { Message, Thread } from '@/lib/api'
import type { AnswerView, LiveAnswer, ThreadTitle } from '@/lib/stream'
import type { DecisionLists } from '../proofread/review'
import { texts } from '../texts'
import { DecisionSaver } from './decisions'
import { QuestionSender } from './questionSender'
import { endedMessage, isRunning, isWriting, lostMessage } from './turns'

/**
 * Conversation is a thread in this tab: its messages, and its pending questions and answers. It outlives its screen, so
 * that returning to it is immediate. Only Conversation changes its state.
 */
export class Conversation extends QuestionSender {
  #loaded = false
  readonly #decisions = new DecisionSaver(this.deps.store, this.deps.api.decideChanges, {
    onSaved: (messageId, decided) => this.#decided(messageId, decided),
    onRefused: (messageId, decided, cause) => {
      this.deps.events.onTrouble('decide', () => this.decide(messageId, decided), cause)
      void this.refresh()
    },
  })

  /** Whether there are messages to show without a request to the server. */
  get shown(): boolean {
    return this.#loaded || this.state.turns.length > 0
  }

  /** Shows the thread and its newest messages, and joins a running answer. */
  load(thread: Thread, page: readonly Message[]): void {
    this.#loaded = true
    this.markThreadUsed()
    // The user may have asked something during the request.
    if (this.state.turns.length > 0) void this.refresh()
    else this.showNewest(thread, page)
  }

  /** Begins to edit a question; null cancels editing. */
  edit(messageId: string | null): void {
    this.set({ editing: messageId })
  }

  /** Drops the request for an answer whose tokens the user declined. */
  declineCost(): void {
    this.set({ costly: null })
  }

  dismissFailure(): void {
    this.set({ failure: null })
  }

  /** Stops the running answer, or the requested one as soon as it begins. */
  async stop(): Promise<void> {
    const turn = this.state.turns.at(-1)
    if (turn === undefined || !isWriting(turn) || this.state.stopping) return
    this.set({ stopping: true })
    const live = turn.live ?? turn.successor
    const id = live === null ? null : this.deps.store.get(live.viewAtom).messageId
    if (id !== null) await this.#stopMessage(id)
  }

  async #stopMessage(messageId: string): Promise<void> {
    try {
      await this.deps.api.stopMessage(messageId)
    } catch (cause) {
      this.set({ stopping: false })
      this.deps.events.onTrouble('stop', () => void this.stop(), cause)
    }
  }

  /** Hides the note about another branch. */
  dismissOtherBranch(): void {
    this.set({ otherBranch: null })
  }

  /** Shows a message: loads pages until it is found, or switches to its branch. */
  async reveal(messageId: string): Promise<void> {
    if (!(await this.loadUntil(messageId)) && this.state.older === 'end') await this.goTo(messageId)
  }

  /** Handles the title in an answer's stream. */
  handleTitle(title: ThreadTitle): void {
    const { thread } = this.state
    if (thread !== null) this.set({ thread: withTitle(thread, title) })
  }

  /** Handles the server's acceptance of a question: the optimistic turns get its ids. */
  handleStart(live: LiveAnswer, view: AnswerView): void {
    const { messageId } = view
    if (messageId === null) return
    this.handleAcceptance(live, view, messageId)
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
      if (view.messageId !== null && view.messageId === this.state.otherBranch?.id) this.finishOtherBranch()
      this.deps.events.onRunning(threadId, false)
      return
    }
    this.version++
    this.deps.events.onRunning(threadId, false)
    this.set({ stopping: false })
    if (ending.kind === 'failed' && view.messageId === null) {
      this.handleRefusal(turn, live, ending.failure)
      return
    }
    if (ending.kind === 'done') {
      const reasoning = this.deps.store.get(live.reasoningAtom)
      const message = endedMessage(turn.message, view, text, reasoning, this.deps.now())
      this.patch(turn.key, { live: null, successor: null, message })
      void this.refresh(2)
      return
    }
    // The stream has nothing left or is inconsistent, so load the stored message. Until then keep the text.
    void this.refresh(2).then(() => this.#settle(turn.key, text))
  }

  /** Completes a turn whose stream had no ending: with the stored message, or as lost with the received text. */
  #settle(key: string, text: string): void {
    const message = this.state.turns.find((turn) => turn.key === key)?.message
    if (message === undefined) return
    const lost = isRunning(message) ? lostMessage(message, text, texts.failure.lost) : message
    this.patch(key, { live: null, successor: null, message: lost })
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
      this.version++
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
    this.version++
    this.patch(turn.key, { message: change(turn.message) })
  }
}
