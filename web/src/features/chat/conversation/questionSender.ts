import type { NewThreadProject } from '@/entities/thread/newChat'
import type { Message, Picture } from '@/lib/api'
import { meQuery, queryClient } from '@/lib/api/queries'
import {
  type AnswerView,
  awaitedAnswer,
  type LiveAnswer,
  type StreamFailure,
  waitingCode,
} from '@/lib/stream'
import { type ConversationCore, unknownMessage } from './conversationCore'
import { isBusy, type Place, type Question, tokensToAccept } from './conversationState'
import type { MessageHistory } from './history'
import type { ModelSelection } from './modelSelection'
import {
  optimisticId,
  optimisticTurns,
  type Turn,
  withAnswerId,
  withoutOptimistic,
  withQuestionId,
  withRegeneratedAnswer,
} from './turns'

/**
 * QuestionSender sends questions to the server: it shows each question optimistically, sends it once and returns it to the
 * composer if the server refuses it.
 */
export class QuestionSender {
  #threadRequest: string | null = null
  /** Whether the thread was created here and is empty, as far as known. */
  #unused = false
  readonly #questions = new Map<string, { readonly question: Question; readonly place: Place }>()
  /** The model choices of regenerated answers, by request id. */
  readonly #modelSelections = new Map<string, ModelSelection>()
  /** The turns that pending branches have replaced, by request id. */
  readonly #replaced = new Map<string, readonly Turn[]>()

  constructor(
    private readonly core: ConversationCore,
    private readonly history: MessageHistory,
    private readonly skillId: string,
  ) {}

  /** Sets whether the new thread is temporary. It has no effect once the thread is being created. */
  setTemporary(temporary: boolean): void {
    const { thread, turns } = this.core.state
    if (thread !== null || turns.length > 0) return
    // An earlier request may have created a thread with the other setting.
    this.#threadRequest = null
    this.core.set({ temporary })
  }

  /** Sets the project of the new thread. It has no effect once the thread is being created. */
  setProject(project: NewThreadProject | null): void {
    const { thread, turns } = this.core.state
    if (thread !== null || turns.length > 0) return
    this.#threadRequest = null
    this.core.set({ project, temporary: false })
  }

  /** Reports that the thread was read from the server. */
  markThreadUsed(): void {
    this.#unused = false
  }

  async ask(asked: Question, requestId: string, place: Place): Promise<void> {
    const { core } = this
    if (isBusy(core.state)) return
    // A retry repeats the same request, even if the user has chosen another model since.
    const question = {
      ...asked,
      modelSelection: asked.modelSelection ?? core.deps.modelSelection(this.skillId),
    }
    core.set({
      failure: null,
      costly: null,
      stopping: false,
      otherBranch: null,
      ...('edit' in place && { editing: null }),
    })
    const { thread } = core.state
    if (thread !== null) {
      this.#send(thread.id, question, requestId, place)
      return
    }
    // The answer's turn appears while the thread is being created. Its stream begins afterwards.
    this.#threadRequest ??= core.deps.newId()
    this.#showOptimistic(question, requestId, '', place, awaitedAnswer(requestId))
    try {
      const made = await core.deps.api.createThread({
        request_id: this.#threadRequest,
        skill_id: this.skillId,
        ...(core.state.temporary && { temporary: true }),
        ...(core.state.project && {
          project_id: core.state.project.id,
          visibility: core.state.project.visibility,
        }),
      })
      this.#unused = true
      core.set({ thread: made, turns: withoutOptimistic(core.state.turns, requestId) })
      core.deps.events.onThread(made)
      this.#send(made.id, question, requestId, place)
    } catch (cause) {
      this.#handleFailure(
        question,
        requestId,
        place,
        cause instanceof Error ? cause : new Error(String(cause)),
      )
    }
  }

  regenerate(
    messageId: string,
    requestId: string,
    modelSelection: ModelSelection = this.core.deps.modelSelection(this.skillId),
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
      ...modelSelection,
      ...accepting(acceptTokens),
    })
    this.#modelSelections.set(requestId, modelSelection)
    this.#replaced.set(requestId, turns.slice(index + 1))
    core.set({
      turns: [...turns.slice(0, index), { ...turn, successor: live }],
      costly: null,
      stopping: false,
      otherBranch: null,
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
      ...question.modelSelection,
      ...accepting(question.acceptTokens),
    })
    this.#showOptimistic(question, requestId, threadId, place, live)
    this.core.deps.events.onRunning(threadId, true)
  }

  /** Shows a question and its answer optimistically. They replace the turns from an edited question on. */
  #showOptimistic(
    question: Question,
    requestId: string,
    threadId: string,
    place: Place,
    live: LiveAnswer,
  ): void {
    const turns = withoutOptimistic(this.core.state.turns, requestId)
    const index = 'edit' in place ? turns.findIndex((turn) => turn.message.id === place.edit) : -1
    const edited = turns[index]
    const before = edited === undefined ? turns : turns.slice(0, index)
    const parent = before.at(-1)?.message.id
    const me = queryClient.getQueryData(meQuery.queryKey)
    const asked = {
      content: question.content,
      ...(me && { author: { id: me.id, name: me.name } }),
      siblings: edited?.message.siblings ?? [],
      ...(parent !== undefined && { parent_id: parent }),
      ...(question.kind === 'form' && { form: { ...question.form } }),
      ...sourcesOf(question),
      ...picturesOf(question, edited?.message),
    }
    if (edited !== undefined) this.#replaced.set(requestId, turns.slice(index))
    const optimistic = optimisticTurns(requestId, threadId, asked, live, this.core.deps.now())
    this.core.set({ turns: [...before, ...optimistic] })
  }

  /** Handles the server's acceptance of a question: the optimistic turns get its ids. */
  handleStart(live: LiveAnswer, { userMessageId }: AnswerView, messageId: string): void {
    const { core } = this
    core.version++
    this.#unused = false
    this.#replaced.delete(live.key)
    const turns = core.state.turns.map((turn): Turn => {
      if (turn.successor === live) return withRegeneratedAnswer(turn, live, messageId, core.deps.now())
      if (turn.live === live) return withAnswerId(turn, messageId, userMessageId)
      if (turn.message.id === optimisticId(live.key) && userMessageId !== null)
        return withQuestionId(turn, userMessageId)
      return turn
    })
    core.set({ turns })
    const asked = this.#questions.get(live.key)
    this.#questions.delete(live.key)
    asked?.question.onTaken?.()
    this.history.catchUp()
  }

  /** Handles the server's refusal of a turn's request. */
  handleRefusal(turn: Turn, live: LiveAnswer, failure: StreamFailure): void {
    if (turn.successor === live) {
      this.core.patch(turn.key, { successor: null })
      this.#restoreTurns(live.key)
      this.history.catchUp()
      const modelSelection = this.#modelSelections.get(live.key)
      const tokens = tokensToAccept(failure)
      const again = () => this.regenerate(turn.message.id, live.key, modelSelection, tokens)
      if (tokens === undefined) this.core.deps.events.onTrouble('regenerate', again, failure)
      else this.core.set({ costly: { tokens, proceed: again } })
      return
    }
    const asked = this.#questions.get(live.key)
    if (failure.code === waitingCode) {
      // Another member asked at the same moment. The question waits on the server and is listed there.
      this.#questions.delete(live.key)
      this.core.set({ turns: withoutOptimistic(this.core.state.turns, live.key) })
      asked?.question.onTaken?.()
      this.history.catchUp()
      void this.history.refresh()
      return
    }
    if (failure.kind === 'problem') this.#discardUnusedThread()
    if (asked !== undefined) this.#handleFailure(asked.question, live.key, asked.place, failure)
    // The other running answer of this thread is not known here yet.
    if (failure.code === 'thread_busy') void this.history.refresh()
  }

  #handleFailure(question: Question, requestId: string, place: Place, cause: Error): void {
    this.#questions.delete(requestId)
    const tokens = tokensToAccept(cause)
    const retry = () => {
      if (isBusy(this.core.state)) return
      this.core.deps.events.onQuestionRetried(failure)
      void this.ask({ ...question, ...(tokens && { acceptTokens: tokens }) }, requestId, place)
    }
    const failure = { requestId, question, place, cause, retry }
    const editing = 'edit' in place && { editing: place.edit }
    this.core.set({
      turns: withoutOptimistic(this.core.state.turns, requestId),
      ...(tokens === undefined ? { failure } : { costly: { tokens, proceed: retry } }),
      stopping: false,
      ...editing,
    })
    this.#restoreTurns(requestId)
    this.core.deps.events.onQuestionLost(failure)
    this.history.catchUp()
  }

  /** Restores the turns that a pending branch has replaced. */
  #restoreTurns(requestId: string): void {
    const replaced = this.#replaced.get(requestId) ?? []
    this.#replaced.delete(requestId)
    this.core.set({ turns: [...this.core.state.turns, ...replaced] })
  }

  /** Deletes the thread that was created for a refused question. The next question creates another one. */
  #discardUnusedThread(): void {
    const { thread } = this.core.state
    const used = [...this.core.unmatchedEvents].some((id) => id !== unknownMessage)
    if (thread === null || !this.#unused || used) return
    this.#unused = false
    this.#threadRequest = null
    this.core.set({ thread: null })
    this.core.deps.events.onUnused(thread)
  }
}

/** picturesOf returns the pictures of a question, or those of the question that it replaces. */
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
