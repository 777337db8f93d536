import { ApiError, type Message, type Thread } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import { type ConversationCore, unknownMessage } from './conversationCore'
import {
  hasGap,
  hasOlder,
  hasPending,
  isRunning,
  isWriting,
  mergeNewest,
  prependOlder,
  sameOutcome,
  type Turn,
} from './turns'

/** MESSAGE_PAGE is the number of messages in a page. */
export const MESSAGE_PAGE = 20

/** MessageHistory manages the loaded messages of a thread: it loads pages, follows events and switches branches. */
export class MessageHistory {
  #loadingOlder: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  #refreshingAgain: Promise<void> | null = null
  /** Increases with each switch of branches. Only the last switch takes effect. */
  #visit = 0

  constructor(private readonly core: ConversationCore) {}

  /** Shows the newest messages, and joins a running answer. */
  begin(thread: Thread, page: readonly Message[]): void {
    const hidden = thread.running && page[0] !== undefined && !isRunning(page[0])
    this.core.set({ thread, otherBranch: hidden ? { id: null, running: true } : null })
    this.#setBranch(mergeNewest([], page))
  }

  /** Shows the branch of a message, up to the newest message of the branch. */
  async goTo(messageId: string): Promise<void> {
    const { core } = this
    const { thread } = core.state
    if (thread === null || hasPending(core.state.turns)) return
    const visit = ++this.#visit
    try {
      const page: Message[] = []
      for (let more = true; more; ) {
        const range = { leaf: messageId, offset: page.length, limit: MESSAGE_PAGE }
        const next = await core.deps.api.listMessages(thread.id, range)
        page.push(...next)
        more = next.length === MESSAGE_PAGE && !page.some(({ id }) => id === messageId)
      }
      // The user has asked a question or switched to another branch in the meantime.
      if (this.#visit !== visit || hasPending(core.state.turns)) return
      core.version++
      const left = core.state.turns.at(-1)
      if (left !== undefined && left.live !== null && !page.some(({ id }) => id === left.message.id))
        core.set({ otherBranch: { id: left.message.id, running: true } })
      this.#setBranch(mergeNewest(core.state.turns, page))
      // If storing the choice fails, the user can switch again.
      core.deps.api.editThread(thread.id, { leaf: messageId }).catch(() => {})
    } catch (cause) {
      core.deps.events.onTrouble('branch', () => void this.goTo(messageId), cause)
    }
  }

  /** Loads the page before the oldest loaded message. Calls during loading wait for the same page. */
  loadOlder(): Promise<void> {
    this.#loadingOlder ??= this.#readOlder().finally(() => {
      this.#loadingOlder = null
    })
    return this.#loadingOlder
  }

  async #readOlder(): Promise<void> {
    const { core } = this
    const { thread, turns, older } = core.state
    if (thread === null || older === 'end') return
    core.set({ older: 'loading' })
    try {
      const offset = turns.filter((turn) => !turn.pending).length
      const range = { ...leafOf(turns), offset, limit: MESSAGE_PAGE }
      const page = await core.deps.api.listMessages(thread.id, range)
      // The user may have left the branch in the meantime.
      const same = core.state.turns[0]?.message.id === turns[0]?.message.id
      const all = same ? prependOlder(core.state.turns, page) : core.state.turns
      core.set({ turns: all, older: (page.length > 0 || !same) && hasOlder(all) ? 'more' : 'end' })
    } catch {
      core.set({ older: 'failed' })
    }
  }

  /** Loads pages until a message is found, and reports whether the message is part of the branch. */
  async loadUntil(messageId: string): Promise<boolean> {
    for (;;) {
      const { turns, older } = this.core.state
      if (turns.some((turn) => turn.message.id === messageId)) return true
      if (older !== 'more' && older !== 'loading') return false
      await this.loadOlder()
    }
  }

  /** Loads all messages, for saving and printing. */
  async loadAll(): Promise<void> {
    while (this.core.state.older !== 'end') {
      await this.loadOlder()
      if (this.core.state.older === 'failed') throw new Error('older messages could not be read')
    }
  }

  /**
   * Loads the newest messages again, after a change in another tab or the end of an answer. A call during another
   * request gets the response to a later request.
   */
  refresh(limit = MESSAGE_PAGE): Promise<void> {
    const { thread, turns } = this.core.state
    if (thread === null) return Promise.resolve()
    if (hasPending(turns)) {
      this.core.unmatchedEvents.add(unknownMessage)
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

  /** Shows the branch that the user viewed last on any device. */
  async reopen(): Promise<void> {
    const { thread, turns } = this.core.state
    if (thread === null || hasPending(turns)) return this.refresh()
    this.core.version++
    await this.#readNewest(thread.id, MESSAGE_PAGE, {})
  }

  async #readNewest(
    threadId: string,
    limit: number,
    leaf: { leaf?: string } = leafOf(this.core.state.turns),
  ): Promise<void> {
    const { core } = this
    const { version } = core
    let page: Message[]
    try {
      if (core.state.otherBranch?.running) this.handleThread(await core.deps.api.getThread(threadId))
      page = await core.deps.api.listMessages(threadId, { ...leaf, offset: 0, limit })
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 404) this.handleDeletion()
      return
    }
    // The page may contain an optimistic turn under its server id, which is still unknown here.
    if (hasPending(core.state.turns)) {
      core.unmatchedEvents.add(unknownMessage)
      return
    }
    if (core.version !== version) return this.#readNewest(threadId, MESSAGE_PAGE)
    if (hasGap(core.state.turns, page) && limit < MESSAGE_PAGE)
      return this.#readNewest(threadId, MESSAGE_PAGE, leaf)
    // Scrolling up loads the messages in the gap and the earlier ones.
    this.#setBranch(mergeNewest(core.state.turns, page))
  }

  /** Shows a branch, and joins its last answer if that is running. */
  #setBranch(turns: readonly Turn[]): void {
    const { older, otherBranch: elsewhere } = this.core.state
    const shown = turns.some((turn) => turn.message.id === elsewhere?.id)
    const reading = older === 'loading' || older === 'failed' ? older : 'more'
    this.core.set({ turns, older: hasOlder(turns) ? reading : 'end', ...(shown && { otherBranch: null }) })
    this.#joinRunning()
  }

  #joinRunning(): void {
    const { core } = this
    const { thread, turns } = core.state
    const last = turns.at(-1)
    if (thread === null || last === undefined || last.pending || isWriting(last)) return
    if (last.message.role !== 'assistant' || !isRunning(last.message)) return
    core.patch(last.key, { live: core.deps.streams.attach(last.message.id, thread.id) })
    core.deps.events.onRunning(thread.id, true)
  }

  /** Handles the server's event about a message: asked, begun, finished or rated on any device. */
  handleMessage(message: LiveMessage): void {
    const { otherBranch: elsewhere, turns } = this.core.state
    if (elsewhere?.id === message.id && !isRunning(message)) this.finishOtherBranch()
    if (hasPending(turns)) {
      this.core.unmatchedEvents.add(message.id)
      return
    }
    const turn = turns.find((item) => item.message.id === message.id)
    // The stream of a running answer reports its own changes.
    if (turn !== undefined && (isWriting(turn) || sameOutcome(turn.message, message))) return
    const last = turns.at(-1)?.message
    const again =
      message.role === 'assistant' &&
      message.parent_id === last?.parent_id &&
      last?.siblings?.includes(message.id) !== true
    // Follow a regenerated last answer. Stay if the branch begins further up, or if the event rates an alternative that
    // the reader has left.
    if (turn === undefined && again) this.#follow(message.id)
    else void this.refresh().then(() => this.#notice(message))
  }

  #follow(messageId: string): void {
    const threadId = this.core.state.thread?.id
    if (threadId !== undefined) void this.#readNewest(threadId, MESSAGE_PAGE, { leaf: messageId })
  }

  /** Notes that another tab has begun a branch next to the one on the screen. */
  #notice(message: LiveMessage): void {
    const { turns, otherBranch: elsewhere } = this.core.state
    const { id, role, parent_id } = message
    if (turns.length === 0 || turns.some((turn) => turn.message.id === id)) return
    const beside = parent_id === undefined || turns.some((turn) => turn.message.id === parent_id)
    const running = isRunning(message)
    if (role === 'user' && running) return // It waits for its turn in a shared thread.
    if (role === 'user' && beside) this.core.set({ otherBranch: { id, running: true } })
    const followed = elsewhere?.id != null && (elsewhere.id === id || elsewhere.id === parent_id)
    if (role === 'assistant' && (followed || (beside && running)))
      this.core.set({ otherBranch: { id, running } })
  }

  finishOtherBranch(): void {
    const { otherBranch: elsewhere } = this.core.state
    if (elsewhere === null) return
    this.core.set({ otherBranch: elsewhere.id === null ? null : { ...elsewhere, running: false } })
  }

  /** Handles a new title of the thread or the end of its answer. */
  handleThread(thread: Thread): void {
    if (this.core.state.thread !== null) this.core.set({ thread })
    if (!thread.running) this.finishOtherBranch()
  }

  /** Handles the deletion of the thread. */
  handleDeletion(): void {
    if (this.core.state.thread !== null) this.core.set({ gone: true })
  }

  /** Reloads if an event during a pending question was not about that question. */
  catchUp(): void {
    const { turns } = this.core.state
    if (hasPending(turns)) return
    const known = new Set(turns.map((turn) => turn.message.id))
    const missed = [...this.core.unmatchedEvents].some((id) => !known.has(id))
    this.core.unmatchedEvents.clear()
    if (missed) void this.refresh()
  }
}

/** leafOf returns the leaf of the branch of `turns`. */
function leafOf(turns: readonly Turn[]): { leaf?: string } {
  const last = turns.findLast((turn) => !turn.pending)
  return last === undefined ? {} : { leaf: last.message.id }
}
