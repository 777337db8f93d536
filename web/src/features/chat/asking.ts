import type { Message, Picture, Thread } from '@/lib/api'
import { type AnswerView, awaitedAnswer, type LiveAnswer, type StreamFailure } from '@/lib/stream'
import { anything, type ConversationCore } from './conversationCore'
import { isBusy, type Place, type Question, type SendFailure, tokensToAccept } from './conversationState'
import type { MessageHistory } from './history'
import { aheadId, aheadTurns, begun, succeeded, type Turn, taken, withoutAhead } from './turns'
import type { Wish } from './wishes'

/** What becomes of questions, beside what the state shows. */
interface AskingEvents {
  /** A thread that was made for a question is not needed: the server has refused the question. */
  readonly onUnused: (thread: Thread) => void
  readonly onLost: (failure: SendFailure) => void
  readonly onRetried: (question: Question) => void
}

/** How questions get to the server: shown ahead, sent once, and given back if they are refused. */
export class Asking {
  #threadRequest: string | null = null
  /** The thread was made here, and as far as is known nothing is in it. */
  #unused = false
  readonly #questions = new Map<string, { readonly question: Question; readonly place: Place }>()
  /** What was wished for answers that are made again, by request. */
  readonly #wishes = new Map<string, Wish>()
  /** What stood after the places where branches are about to begin, by request. */
  readonly #cut = new Map<string, readonly Turn[]>()

  constructor(
    private readonly core: ConversationCore,
    private readonly history: MessageHistory,
    private readonly skillId: string,
    private readonly events: AskingEvents,
  ) {}

  /** Chooses what the thread is to be, as long as none is being made. */
  setTemporary(temporary: boolean): void {
    const { thread, turns } = this.core.state
    if (thread !== null || turns.length > 0) return
    // What was asked for before, and may have been made, was another one.
    this.#threadRequest = null
    this.core.set({ temporary })
  }

  /** The thread has been read from the server. */
  used(): void {
    this.#unused = false
  }

  async ask(asked: Question, requestId: string, place: Place): Promise<void> {
    const { core } = this
    if (isBusy(core.state)) return
    // A repetition is the same request, whatever is chosen by then.
    const question = { ...asked, wish: asked.wish ?? core.deps.wish(this.skillId) }
    core.set({
      failure: null,
      costly: null,
      stopping: false,
      elsewhere: null,
      ...('edit' in place && { editing: null }),
    })
    const { thread } = core.state
    if (thread !== null) {
      this.#send(thread.id, question, requestId, place)
      return
    }
    // The place of the answer stands while the thread is being made; its stream begins as soon as there is one.
    this.#threadRequest ??= core.deps.newId()
    this.#showAhead(question, requestId, '', place, awaitedAnswer(requestId))
    try {
      const made = await core.deps.api.createThread({
        request_id: this.#threadRequest,
        skill_id: this.skillId,
        ...(core.state.temporary && { temporary: true }),
      })
      this.#unused = true
      core.set({ thread: made, turns: withoutAhead(core.state.turns, requestId) })
      core.deps.events.onThread(made)
      this.#send(made.id, question, requestId, place)
    } catch (cause) {
      this.#lose(question, requestId, place, cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  regenerate(
    messageId: string,
    requestId: string,
    wish: Wish = this.core.deps.wish(this.skillId),
    acceptTokens?: number,
  ): void {
    const { core } = this
    const { thread, turns } = core.state
    const index = turns.findIndex((turn) => turn.message.id === messageId)
    const turn = turns[index]
    if (thread === null || turn?.message.role !== 'assistant' || turn.pending || isBusy(core.state)) return
    const live = core.deps.streams.send(requestId, {
      request_id: requestId,
      thread_id: thread.id,
      regenerate: messageId,
      ...wish,
      ...accepting(acceptTokens),
    })
    this.#wishes.set(requestId, wish)
    this.#cut.set(requestId, turns.slice(index + 1))
    core.set({
      turns: [...turns.slice(0, index), { ...turn, successor: live }],
      costly: null,
      stopping: false,
      elsewhere: null,
    })
    core.deps.events.onRunning(thread.id, true)
  }

  #send(threadId: string, question: Question, requestId: string, place: Place): void {
    this.#questions.set(requestId, { question, place })
    const pictures = question.kind === 'text' ? question.pictures : undefined
    const live = this.core.deps.streams.send(requestId, {
      request_id: requestId,
      thread_id: threadId,
      ...place,
      ...(question.kind === 'form' ? { form: question.form } : { content: question.content }),
      ...sourcesOf(question),
      ...(pictures && { picture_ids: pictures.map(({ id }) => id) }),
      ...question.wish,
      ...accepting(question.acceptTokens),
    })
    this.#showAhead(question, requestId, threadId, place, live)
    this.core.deps.events.onRunning(threadId, true)
  }

  /** Shows a question and the place of its answer, in place of what they are to stand beside. */
  #showAhead(question: Question, requestId: string, threadId: string, place: Place, live: LiveAnswer): void {
    const turns = withoutAhead(this.core.state.turns, requestId)
    const index = 'edit' in place ? turns.findIndex((turn) => turn.message.id === place.edit) : -1
    const edited = turns[index]
    const before = edited === undefined ? turns : turns.slice(0, index)
    const parent = before.at(-1)?.message.id
    const asked = {
      content: question.content,
      siblings: edited?.message.siblings ?? [],
      ...(parent !== undefined && { parent_id: parent }),
      ...(question.kind === 'form' && { form: { ...question.form } }),
      ...sourcesOf(question),
      ...picturesOf(question, edited?.message),
    }
    if (edited !== undefined) this.#cut.set(requestId, turns.slice(index))
    const ahead = aheadTurns(requestId, threadId, asked, live, this.core.deps.now())
    this.core.set({ turns: [...before, ...ahead] })
  }

  /** The server has taken a question: what was shown ahead gets its ids. */
  started(live: LiveAnswer, { userMessageId }: AnswerView, messageId: string): void {
    const { core } = this
    core.version++
    this.#unused = false
    this.#cut.delete(live.key)
    const turns = core.state.turns.map((turn): Turn => {
      if (turn.successor === live) return succeeded(turn, live, messageId, core.deps.now())
      if (turn.live === live) return begun(turn, messageId, userMessageId)
      if (turn.message.id === aheadId(live.key) && userMessageId !== null) return taken(turn, userMessageId)
      return turn
    })
    core.set({ turns })
    const asked = this.#questions.get(live.key)
    this.#questions.delete(live.key)
    asked?.question.onTaken?.()
    this.history.catchUp()
  }

  /** The server has refused what a turn was waiting for. */
  refused(turn: Turn, live: LiveAnswer, failure: StreamFailure): void {
    if (turn.successor === live) {
      this.core.patch(turn.key, { successor: null })
      this.#putBack(live.key)
      this.history.catchUp()
      const wish = this.#wishes.get(live.key)
      const tokens = tokensToAccept(failure)
      const again = () => this.regenerate(turn.message.id, live.key, wish, tokens)
      if (tokens === undefined) this.core.deps.events.onTrouble('regenerate', again, failure)
      else this.core.set({ costly: { tokens, proceed: again } })
      return
    }
    const asked = this.#questions.get(live.key)
    if (failure.kind === 'problem') this.#giveThreadUp()
    if (asked !== undefined) this.#lose(asked.question, live.key, asked.place, failure)
    // The other answer that keeps this thread busy is not known here yet.
    if (failure.code === 'thread_busy') void this.history.refresh()
  }

  #lose(question: Question, requestId: string, place: Place, cause: Error): void {
    this.#questions.delete(requestId)
    const tokens = tokensToAccept(cause)
    const retry = () => {
      this.events.onRetried(question)
      void this.ask({ ...question, ...(tokens && { acceptTokens: tokens }) }, requestId, place)
    }
    const failure = { question, place, cause, retry }
    const editing = 'edit' in place && { editing: place.edit }
    this.core.set({
      turns: withoutAhead(this.core.state.turns, requestId),
      ...(tokens === undefined ? { failure } : { costly: { tokens, proceed: retry } }),
      stopping: false,
      ...editing,
    })
    this.#putBack(requestId)
    this.events.onLost(failure)
    this.history.catchUp()
  }

  /** Shows again what stood after the place where a branch was to begin. */
  #putBack(requestId: string): void {
    const cut = this.#cut.get(requestId) ?? []
    this.#cut.delete(requestId)
    this.core.set({ turns: [...this.core.state.turns, ...cut] })
  }

  /** Has the thread taken away that was made for a refused question; the next question makes another one. */
  #giveThreadUp(): void {
    const { thread } = this.core.state
    const told = [...this.core.heard].some((id) => id !== anything)
    if (thread === null || !this.#unused || told) return
    this.#unused = false
    this.#threadRequest = null
    this.core.set({ thread: null })
    this.events.onUnused(thread)
  }
}

/** The pictures of a question: its own, or those of the one that it replaces. */
function picturesOf(question: Question, edited: Message | undefined): { pictures?: Picture[] } {
  const own = question.kind === 'text' ? question.pictures : undefined
  const pictures = own ?? edited?.pictures ?? []
  return pictures.length === 0 ? {} : { pictures: [...pictures] }
}

function accepting(tokens: number | undefined): { accept_tokens?: number } {
  return tokens === undefined ? {} : { accept_tokens: tokens }
}

function sourcesOf(question: Question): { data_source_ids?: string[] } {
  const sources = question.kind === 'text' ? question.sources : undefined
  return sources === undefined ? {} : { data_source_ids: [...sources] }
}
