import { type Atom, atom, type createStore, type PrimitiveAtom } from 'jotai'
import { withTitle } from '@/entities/thread/threads'
import {
  ApiError,
  type Feedback,
  type FeedbackRequest,
  type Message,
  type Page,
  type Thread,
} from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import {
  type AnswerStreams,
  type AnswerView,
  awaitedAnswer,
  type LiveAnswer,
  type StreamFailure,
  type ThreadTitle,
} from '@/lib/stream'
import { texts } from './texts'
import {
  aheadId,
  aheadTurns,
  begun,
  endedMessage,
  hasGap,
  hasOlder,
  hasPending,
  isRunning,
  isWriting,
  lostMessage,
  mergeNewest,
  prependOlder,
  sameOutcome,
  succeeded,
  type Turn,
  taken,
  withoutAhead,
} from './turns'

/** How many messages a page has. */
export const MESSAGE_PAGE = 20

/** What a person asks: text, or the values of a form with what the thread will show of them. */
export type Question =
  | {
      readonly kind: 'text'
      readonly content: string
      readonly onTaken?: () => void
      /** Called instead of giving the text back to the composer. */
      readonly onLost?: () => void
    }
  | {
      readonly kind: 'form'
      readonly form: Readonly<Record<string, string>>
      readonly content: string
      /** Called once the server has it. */
      readonly onTaken: () => void
    }

/** Where in its thread a question stands: after an answer, or in place of another question. */
export type Place = { readonly parent_id?: string } | { readonly edit: string }

/** An answer of the thread that is not on the screen, in a branch that was begun elsewhere or left while it was written. */
export interface Elsewhere {
  /** A message of that branch; null while it is not known which one it is. */
  readonly id: string | null
  readonly running: boolean
}

/** A question that could not be handed over. It is not lost: `retry` asks the same again. */
export interface SendFailure {
  readonly question: Question
  readonly place: Place
  readonly cause: StreamFailure | Error
  readonly retry: () => void
}

export interface ConversationState {
  readonly thread: Thread | null
  /** The branch on the screen, oldest first. */
  readonly turns: readonly Turn[]
  readonly elsewhere: Elsewhere | null
  /** The question that is being edited. */
  readonly editing: string | null
  readonly older: 'more' | 'loading' | 'failed' | 'end'
  readonly failure: SendFailure | null
  /** Stop was asked for and has not come about yet. */
  readonly stopping: boolean
  /** The thread has been deleted, here or elsewhere. */
  readonly gone: boolean
  /** The thread is in no list and deleted after a day, or will be once it is made. */
  readonly temporary: boolean
}

/** The calls a conversation makes. */
export interface ConversationApi {
  readonly createThread: (request: {
    request_id: string
    skill_id: string
    temporary?: boolean
  }) => Promise<Thread>
  readonly getThread: (threadId: string) => Promise<Thread>
  readonly editThread: (threadId: string, change: { leaf: string }) => Promise<Thread>
  readonly listMessages: (threadId: string, page: Page & { leaf?: string }) => Promise<Message[]>
  readonly stopMessage: (messageId: string) => Promise<void>
  readonly giveFeedback: (request: FeedbackRequest) => Promise<Feedback>
  readonly withdrawFeedback: (messageId: string) => Promise<void>
}

/** What a conversation tells the rest of the app. */
export interface ConversationEvents {
  readonly onThread: (thread: Thread) => void
  /** A thread that was made for a question is not needed: the server has refused the question. */
  readonly onUnused: (conversation: Conversation, thread: Thread) => void
  readonly onRunning: (threadId: string, running: boolean) => void
  /** The text goes back to the composer; `onQuestionRetried` takes it away again. */
  readonly onQuestionLost: (conversation: Conversation, failure: SendFailure) => void
  readonly onQuestionRetried: (conversation: Conversation, question: Question) => void
  readonly onTrouble: (
    what: 'regenerate' | 'stop' | 'feedback' | 'branch',
    retry: () => void,
    cause: unknown,
  ) => void
}

export interface ConversationDeps {
  readonly store: ReturnType<typeof createStore>
  readonly streams: Pick<AnswerStreams, 'send' | 'attach' | 'find' | 'watch'>
  readonly api: ConversationApi
  readonly events: ConversationEvents
  readonly newId: () => string
  readonly now: () => string
}

/**
 * One thread as this tab knows it: its messages, and what is being asked and written. It lives on when its screen is
 * left, so that coming back shows it at once, and is the only place that changes its state.
 */
export class Conversation {
  readonly skillId: string
  readonly #state: PrimitiveAtom<ConversationState>
  /** Whether an answer is being written or asked for in the thread, in whichever branch. */
  readonly busyAtom: Atom<boolean>
  #threadRequest: string | null = null
  /** The thread was made here, and as far as is known nothing is in it. */
  #unused = false
  #loadingOlder: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  #refreshingAgain: Promise<void> | null = null
  /** What was told while a question was on its way, and may have been about that question. */
  readonly #heard = new Set<string>()
  /** Grows with what begins, ends or is rated here: a page that was asked for before that may be from before it. */
  #version = 0
  /** Grows with each way to another branch: the last one counts. */
  #visit = 0
  #loaded = false

  constructor(
    skillId: string,
    private readonly deps: ConversationDeps,
    thread: Thread | null = null,
  ) {
    this.skillId = skillId
    this.#state = atom<ConversationState>({
      thread,
      turns: [],
      elsewhere: null,
      editing: null,
      older: 'end',
      failure: null,
      stopping: false,
      gone: false,
      temporary: thread?.expires_at !== undefined,
    })
    this.busyAtom = atom((get) => isBusy(get(this.#state)))
  }

  get stateAtom(): Atom<ConversationState> {
    return this.#state
  }

  get state(): ConversationState {
    return this.deps.store.get(this.#state)
  }

  /** Whether there is something to show without asking the server. */
  get shown(): boolean {
    return this.#loaded || this.state.turns.length > 0
  }

  /** Takes the thread and its newest messages as the server told them, and joins an answer that is being written. */
  load(thread: Thread, page: readonly Message[]): void {
    this.#loaded = true
    this.#unused = false
    if (this.state.turns.length > 0) {
      // Something has been asked here while this was read.
      void this.refresh()
      return
    }
    const hidden = thread.running && page[0] !== undefined && !isRunning(page[0])
    this.#set({ thread, elsewhere: hidden ? { id: null, running: true } : null })
    this.#setBranch(mergeNewest([], page))
  }

  /** Chooses what the thread is to be, as long as none is being made. */
  setTemporary(temporary: boolean): void {
    if (this.state.thread !== null || this.state.turns.length > 0) return
    // What was asked for before, and may have been made, was another one.
    this.#threadRequest = null
    this.#set({ temporary })
  }

  /** The end of the branch on the screen. */
  get end(): Place {
    const last = this.state.turns.findLast((turn) => !turn.pending && turn.message.role === 'assistant')
    return last === undefined ? {} : { parent_id: last.message.id }
  }

  /** Begins to edit a question, or with null leaves it as it is. */
  edit(messageId: string | null): void {
    this.#set({ editing: messageId })
  }

  /**
   * Asks, at the end of the branch on the screen or in place of another question, which begins a branch. Shows the question and
   * the place of the answer at once; makes the thread if there is none yet.
   */
  async ask(question: Question, requestId = this.deps.newId(), place: Place = this.end): Promise<void> {
    if (isBusy(this.state)) return
    this.#set({ failure: null, stopping: false, elsewhere: null, ...('edit' in place && { editing: null }) })
    const { thread } = this.state
    if (thread !== null) {
      this.#send(thread.id, question, requestId, place)
      return
    }
    // The place of the answer stands while the thread is being made; its stream begins as soon as there is one.
    this.#threadRequest ??= this.deps.newId()
    this.#showAhead(question, requestId, '', place, awaitedAnswer(requestId))
    try {
      const made = await this.deps.api.createThread({
        request_id: this.#threadRequest,
        skill_id: this.skillId,
        ...(this.state.temporary && { temporary: true }),
      })
      this.#unused = true
      this.#set({ thread: made, turns: withoutAhead(this.state.turns, requestId) })
      this.deps.events.onThread(made)
      this.#send(made.id, question, requestId, place)
    } catch (cause) {
      this.#lose(question, requestId, place, cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  /** Has an answer asked again, which begins a branch. The old one stays on the screen until the new one has begun. */
  regenerate(messageId: string, requestId = this.deps.newId()): void {
    const { thread, turns } = this.state
    const index = turns.findIndex((turn) => turn.message.id === messageId)
    const turn = turns[index]
    if (thread === null || turn?.message.role !== 'assistant' || turn.pending || isBusy(this.state)) return
    const live = this.deps.streams.send(requestId, {
      request_id: requestId,
      thread_id: thread.id,
      regenerate: messageId,
    })
    this.#cut.set(requestId, turns.slice(index + 1))
    this.#set({
      turns: [...turns.slice(0, index), { ...turn, successor: live }],
      stopping: false,
      elsewhere: null,
    })
    this.deps.events.onRunning(thread.id, true)
  }

  /** Shows the branch that a message is in, up to its newest message, in place of the one on the screen. */
  async goTo(messageId: string): Promise<void> {
    const { thread } = this.state
    if (thread === null || hasPending(this.state.turns)) return
    const visit = ++this.#visit
    try {
      const page: Message[] = []
      for (let more = true; more; ) {
        const range = { leaf: messageId, offset: page.length, limit: MESSAGE_PAGE }
        const next = await this.deps.api.listMessages(thread.id, range)
        page.push(...next)
        more = next.length === MESSAGE_PAGE && !page.some(({ id }) => id === messageId)
      }
      // Something else was asked or gone to meanwhile.
      if (this.#visit !== visit || hasPending(this.state.turns)) return
      this.#version++
      const left = this.state.turns.at(-1)
      if (left !== undefined && left.live !== null && !page.some(({ id }) => id === left.message.id))
        this.#set({ elsewhere: { id: left.message.id, running: true } })
      this.#setBranch(mergeNewest(this.state.turns, page))
      // What is not remembered is gone to again.
      this.deps.api.editThread(thread.id, { leaf: messageId }).catch(() => {})
    } catch (cause) {
      this.deps.events.onTrouble('branch', () => void this.goTo(messageId), cause)
    }
  }

  /** The reader does not want to see what is elsewhere. */
  dismissElsewhere(): void {
    this.#set({ elsewhere: null })
  }

  /** Stops the answer that is being written, or the one that is about to begin. */
  async stop(): Promise<void> {
    const turn = this.state.turns.at(-1)
    if (turn === undefined || !isWriting(turn) || this.state.stopping) return
    this.#set({ stopping: true })
    const live = turn.live ?? turn.successor
    const id = live === null ? null : this.deps.store.get(live.viewAtom).messageId
    if (id !== null) await this.#stopMessage(id)
  }

  /** Reads the page before the oldest message at hand. Who asks while it is being read waits for the same page. */
  loadOlder(): Promise<void> {
    this.#loadingOlder ??= this.#readOlder().finally(() => {
      this.#loadingOlder = null
    })
    return this.#loadingOlder
  }

  async #readOlder(): Promise<void> {
    const { thread, turns, older } = this.state
    if (thread === null || older === 'end') return
    this.#set({ older: 'loading' })
    try {
      const offset = turns.filter((turn) => !turn.pending).length
      const range = { ...leafOf(turns), offset, limit: MESSAGE_PAGE }
      const page = await this.deps.api.listMessages(thread.id, range)
      // The branch may have been left meanwhile.
      const same = this.state.turns[0]?.message.id === turns[0]?.message.id
      const all = same ? prependOlder(this.state.turns, page) : this.state.turns
      this.#set({ turns: all, older: (page.length > 0 || !same) && hasOlder(all) ? 'more' : 'end' })
    } catch {
      this.#set({ older: 'failed' })
    }
  }

  /** Has a message on the screen: reads until it is at hand, or goes to the branch that it is in. */
  async reveal(messageId: string): Promise<void> {
    if (!(await this.loadUntil(messageId)) && this.state.older === 'end') await this.goTo(messageId)
  }

  /** Reads until a message is at hand; answers whether it is part of the branch. */
  async loadUntil(messageId: string): Promise<boolean> {
    for (;;) {
      if (this.state.turns.some((turn) => turn.message.id === messageId)) return true
      if (this.state.older !== 'more' && this.state.older !== 'loading') return false
      await this.loadOlder()
    }
  }

  /** Reads all there is, for saving and printing. */
  async loadAll(): Promise<void> {
    while (this.state.older !== 'end') {
      await this.loadOlder()
      if (this.state.older === 'failed') throw new Error('older messages could not be read')
    }
  }

  /**
   * Reads the newest messages again: something has changed elsewhere, or an answer has ended. A call made during another
   * one gets an answer that was asked for after it.
   */
  refresh(limit = MESSAGE_PAGE): Promise<void> {
    const { thread } = this.state
    if (thread === null) return Promise.resolve()
    if (hasPending(this.state.turns)) {
      this.#heard.add(anything)
      return Promise.resolve()
    }
    if (this.#refreshing === null) {
      this.#refreshing = this.#readNewest(thread.id, limit).finally(() => {
        this.#refreshing = null
      })
      return this.#refreshing
    }
    this.#refreshingAgain ??= this.#refreshing.then(() => {
      this.#refreshingAgain = null
      return this.refresh()
    })
    return this.#refreshingAgain
  }

  /** Shows the branch that was looked at last, here or elsewhere: the reader has just come. */
  async reopen(): Promise<void> {
    const { thread } = this.state
    if (thread === null || hasPending(this.state.turns)) return this.refresh()
    this.#version++
    await this.#readNewest(thread.id, MESSAGE_PAGE, {})
  }

  async #readNewest(
    threadId: string,
    limit: number,
    leaf: { leaf?: string } = leafOf(this.state.turns),
  ): Promise<void> {
    const version = this.#version
    let page: Message[]
    try {
      if (this.state.elsewhere?.running) this.changed(await this.deps.api.getThread(threadId))
      page = await this.deps.api.listMessages(threadId, { ...leaf, offset: 0, limit })
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 404) this.vanished()
      return
    }
    // What is shown ahead may be in the page under an id that is not known here yet.
    if (hasPending(this.state.turns)) {
      this.#heard.add(anything)
      return
    }
    if (this.#version !== version) return this.#readNewest(threadId, MESSAGE_PAGE)
    if (hasGap(this.state.turns, page) && limit < MESSAGE_PAGE)
      return this.#readNewest(threadId, MESSAGE_PAGE, leaf)
    // What lies between comes when the reader scrolls up to it, and what lies before with it.
    this.#setBranch(mergeNewest(this.state.turns, page))
  }

  /** Shows a branch, and joins its last answer if that is being written. */
  #setBranch(turns: readonly Turn[]): void {
    const { older, elsewhere } = this.state
    const shown = turns.some((turn) => turn.message.id === elsewhere?.id)
    const reading = older === 'loading' || older === 'failed' ? older : 'more'
    this.#set({ turns, older: hasOlder(turns) ? reading : 'end', ...(shown && { elsewhere: null }) })
    this.#joinRunning()
  }

  /** The server has told of a message: asked, begun, ended or rated, here or on another device. */
  told(message: LiveMessage): void {
    const { elsewhere } = this.state
    if (elsewhere?.id === message.id && !isRunning(message)) this.#settleElsewhere()
    if (hasPending(this.state.turns)) {
      this.#heard.add(message.id)
      return
    }
    const turn = this.state.turns.find((item) => item.message.id === message.id)
    // The stream of an answer that is being written tells of it by itself.
    if (turn !== undefined && (isWriting(turn) || sameOutcome(turn.message, message))) return
    const last = this.state.turns.at(-1)?.message
    const again =
      message.role === 'assistant' &&
      message.parent_id === last?.parent_id &&
      last?.siblings?.includes(message.id) !== true
    // The reader goes along where the last answer is asked again, and stays where a branch begins further up, or where an
    // alternative is rated that the reader has left.
    if (turn === undefined && again) this.#follow(message.id)
    else void this.refresh().then(() => this.#notice(message))
  }

  #follow(messageId: string): void {
    const threadId = this.state.thread?.id
    if (threadId !== undefined) void this.#readNewest(threadId, MESSAGE_PAGE, { leaf: messageId })
  }

  /** Notes that a branch has begun elsewhere, beside what is on the screen. */
  #notice(message: LiveMessage): void {
    const { turns, elsewhere } = this.state
    const { id, role, parent_id } = message
    if (turns.length === 0 || turns.some((turn) => turn.message.id === id)) return
    const beside = parent_id === undefined || turns.some((turn) => turn.message.id === parent_id)
    const running = isRunning(message)
    if (role === 'user' && beside) this.#set({ elsewhere: { id, running: true } })
    const followed = elsewhere?.id != null && (elsewhere.id === id || elsewhere.id === parent_id)
    if (role === 'assistant' && (followed || (beside && running))) this.#set({ elsewhere: { id, running } })
  }

  #settleElsewhere(): void {
    const { elsewhere } = this.state
    if (elsewhere === null) return
    this.#set({ elsewhere: elsewhere.id === null ? null : { ...elsewhere, running: false } })
  }

  /** The thread is called otherwise now, or its answer has ended. */
  changed(thread: Thread): void {
    if (this.state.thread !== null) this.#set({ thread })
    if (!thread.running) this.#settleElsewhere()
  }

  /** The thread is gone. */
  vanished(): void {
    if (this.state.thread !== null) this.#set({ gone: true })
  }

  /** Rates an answer, or with null withdraws the rating: shown at once, taken back if it fails. */
  async rate(messageId: string, rating: 'good' | 'bad' | null, comment = ''): Promise<boolean> {
    const turn = this.state.turns.find((item) => item.message.id === messageId)
    if (turn === undefined) return false
    const before = turn.message.feedback
    const feedback = rating === null ? undefined : { rating, ...(comment && { comment }) }
    this.#patchMessage(turn.key, { feedback })
    try {
      if (feedback === undefined) await this.deps.api.withdrawFeedback(messageId)
      else await this.deps.api.giveFeedback({ message_id: messageId, ...feedback })
      this.#version++
      const now = this.state.turns.find((item) => item.key === turn.key)?.message.feedback
      // A page that was read before the server had it has taken it back.
      if (JSON.stringify(now) !== JSON.stringify(feedback)) void this.refresh()
      return true
    } catch (cause) {
      this.#patchMessage(turn.key, { feedback: before })
      this.deps.events.onTrouble('feedback', () => void this.rate(messageId, rating, comment), cause)
      return false
    }
  }

  /** A stream has told what the thread is called. */
  titled(title: ThreadTitle): void {
    const { thread } = this.state
    if (thread !== null) this.#set({ thread: withTitle(thread, title) })
  }

  dismissFailure(): void {
    this.#set({ failure: null })
  }

  /** The server has taken a question: what was shown ahead gets its ids. */
  started(live: LiveAnswer, view: AnswerView): void {
    const { messageId, userMessageId } = view
    if (messageId === null) return
    this.#version++
    this.#unused = false
    this.#cut.delete(live.key)
    const turns = this.state.turns.map((turn): Turn => {
      if (turn.successor === live) return succeeded(turn, live, messageId, this.deps.now())
      if (turn.live === live) return begun(turn, messageId, userMessageId)
      if (turn.message.id === aheadId(live.key) && userMessageId !== null) return taken(turn, userMessageId)
      return turn
    })
    this.#set({ turns })
    const asked = this.#questions.get(live.key)
    this.#questions.delete(live.key)
    asked?.question.onTaken?.()
    this.#catchUp()
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
      if (view.messageId !== null && view.messageId === this.state.elsewhere?.id) this.#settleElsewhere()
      this.deps.events.onRunning(threadId, false)
      return
    }
    this.#version++
    this.deps.events.onRunning(threadId, false)
    this.#set({ stopping: false })
    if (ending.kind === 'failed' && view.messageId === null) {
      this.#refused(turn, live, ending.failure)
      return
    }
    const message =
      ending.kind === 'done'
        ? endedMessage(turn.message, view, text, this.deps.store.get(live.reasoningAtom), this.deps.now())
        : turn.message
    if (ending.kind === 'done') {
      this.#patch(turn.key, { live: null, successor: null, message })
      void this.refresh(2)
      return
    }
    // Nothing more to stream, or no sense to be made of it: the stored message tells. Until then the text stays.
    void this.refresh(2).then(() => this.#settle(turn.key, text))
  }

  /** Ends a turn whose stream told no ending: by what is stored, or as lost with the text that came. */
  #settle(key: string, text: string): void {
    const message = this.state.turns.find((turn) => turn.key === key)?.message
    if (message === undefined) return
    const lost = isRunning(message) ? lostMessage(message, text, texts.failure.lost) : message
    this.#patch(key, { live: null, successor: null, message: lost })
  }

  #refused(turn: Turn, live: LiveAnswer, failure: StreamFailure): void {
    if (turn.successor === live) {
      this.#patch(turn.key, { successor: null })
      this.#putBack(live.key)
      this.#catchUp()
      this.deps.events.onTrouble('regenerate', () => this.regenerate(turn.message.id, live.key), failure)
      return
    }
    const asked = this.#questions.get(live.key)
    if (failure.kind === 'problem') this.#giveThreadUp()
    if (asked !== undefined) this.#lose(asked.question, live.key, asked.place, failure)
    // The other answer that keeps this thread busy is not known here yet.
    if (failure.code === 'thread_busy') void this.refresh()
  }

  /** Shows again what stood after the place where a branch was to begin. */
  #putBack(requestId: string): void {
    const cut = this.#cut.get(requestId) ?? []
    this.#cut.delete(requestId)
    this.#set({ turns: [...this.state.turns, ...cut] })
  }

  /** Has the thread taken away that was made for a refused question; the next question makes another one. */
  #giveThreadUp(): void {
    const { thread } = this.state
    const told = [...this.#heard].some((id) => id !== anything)
    if (thread === null || !this.#unused || told) return
    this.#unused = false
    this.#threadRequest = null
    this.#set({ thread: null })
    this.deps.events.onUnused(this, thread)
  }

  readonly #questions = new Map<string, { readonly question: Question; readonly place: Place }>()
  /** What stood after the places where branches are about to begin, by request. */
  readonly #cut = new Map<string, readonly Turn[]>()

  #send(threadId: string, question: Question, requestId: string, place: Place): void {
    this.#questions.set(requestId, { question, place })
    const live = this.deps.streams.send(requestId, {
      request_id: requestId,
      thread_id: threadId,
      ...place,
      ...(question.kind === 'form' ? { form: question.form } : { content: question.content }),
    })
    this.#showAhead(question, requestId, threadId, place, live)
    this.deps.events.onRunning(threadId, true)
  }

  /** Shows a question and the place of its answer, in place of what they are to stand beside. */
  #showAhead(question: Question, requestId: string, threadId: string, place: Place, live: LiveAnswer): void {
    const turns = withoutAhead(this.state.turns, requestId)
    const index = 'edit' in place ? turns.findIndex((turn) => turn.message.id === place.edit) : -1
    const edited = turns[index]
    const before = edited === undefined ? turns : turns.slice(0, index)
    const parent = before.at(-1)?.message.id
    const asked = {
      content: question.content,
      siblings: edited?.message.siblings ?? [],
      ...(parent !== undefined && { parent_id: parent }),
      ...(question.kind === 'form' && { form: { ...question.form } }),
    }
    if (edited !== undefined) this.#cut.set(requestId, turns.slice(index))
    const ahead = aheadTurns(requestId, threadId, asked, live, this.deps.now())
    this.#set({ turns: [...before, ...ahead] })
  }

  #lose(question: Question, requestId: string, place: Place, cause: Error): void {
    this.#questions.delete(requestId)
    const retry = () => {
      this.deps.events.onQuestionRetried(this, question)
      void this.ask(question, requestId, place)
    }
    const failure = { question, place, cause, retry }
    const editing = 'edit' in place && { editing: place.edit }
    this.#set({ turns: withoutAhead(this.state.turns, requestId), failure, stopping: false, ...editing })
    this.#putBack(requestId)
    this.deps.events.onQuestionLost(this, failure)
    this.#catchUp()
  }

  #joinRunning(): void {
    const { thread, turns } = this.state
    const last = turns.at(-1)
    if (thread === null || last === undefined || last.pending || isWriting(last)) return
    if (last.message.role !== 'assistant' || !isRunning(last.message)) return
    this.#patch(last.key, { live: this.deps.streams.attach(last.message.id, thread.id) })
    this.deps.events.onRunning(thread.id, true)
  }

  async #stopMessage(messageId: string): Promise<void> {
    try {
      await this.deps.api.stopMessage(messageId)
    } catch (cause) {
      this.#set({ stopping: false })
      this.deps.events.onTrouble('stop', () => void this.stop(), cause)
    }
  }

  /** Reads again if something was told meanwhile that was not about the question that was on its way. */
  #catchUp(): void {
    if (hasPending(this.state.turns)) return
    const known = new Set(this.state.turns.map((turn) => turn.message.id))
    const missed = [...this.#heard].some((id) => !known.has(id))
    this.#heard.clear()
    if (missed) void this.refresh()
  }

  #patch(key: string, change: Partial<Turn>): void {
    this.#set({ turns: this.state.turns.map((turn) => (turn.key === key ? { ...turn, ...change } : turn)) })
  }

  #patchMessage(key: string, change: { feedback: Message['feedback'] }): void {
    const turn = this.state.turns.find((item) => item.key === key)
    if (turn === undefined) return
    this.#version++
    const { feedback: _, ...rest } = turn.message
    this.#patch(key, { message: change.feedback ? { ...rest, feedback: change.feedback } : rest })
  }

  #set(change: Partial<ConversationState>): void {
    this.deps.store.set(this.#state, { ...this.state, ...change })
  }
}

/** Whether an answer is being written or asked for in the thread, in whichever branch. */
export function isBusy({ turns, elsewhere }: ConversationState): boolean {
  return isWriting(turns.at(-1)) || elsewhere?.running === true
}

/** Names the branch that the turns are of. */
function leafOf(turns: readonly Turn[]): { leaf?: string } {
  const last = turns.findLast((turn) => !turn.pending)
  return last === undefined ? {} : { leaf: last.message.id }
}

/** Stands for news of which it is not known what they are about. */
const anything = '*'
