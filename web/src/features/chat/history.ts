import { ApiError, type Message, type Thread } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import { anything, type ConversationCore } from './conversationCore'
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

/** How many messages a page has. */
export const MESSAGE_PAGE = 20

/**
 * Which messages of a thread are on the screen: reads them, follows what is told of them, and goes to other branches.
 */
export class MessageHistory {
  #loadingOlder: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  #refreshingAgain: Promise<void> | null = null
  /** Grows with each way to another branch: the last one counts. */
  #visit = 0

  constructor(private readonly core: ConversationCore) {}

  /** Shows the newest messages as the server told them, and joins an answer that is being written. */
  begin(thread: Thread, page: readonly Message[]): void {
    const hidden = thread.running && page[0] !== undefined && !isRunning(page[0])
    this.core.set({ thread, elsewhere: hidden ? { id: null, running: true } : null })
    this.#setBranch(mergeNewest([], page))
  }

  /** Shows the branch that a message is in, up to its newest message, in place of the one on the screen. */
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
      // Something else was asked or gone to meanwhile.
      if (this.#visit !== visit || hasPending(core.state.turns)) return
      core.version++
      const left = core.state.turns.at(-1)
      if (left !== undefined && left.live !== null && !page.some(({ id }) => id === left.message.id))
        core.set({ elsewhere: { id: left.message.id, running: true } })
      this.#setBranch(mergeNewest(core.state.turns, page))
      // What is not remembered is gone to again.
      core.deps.api.editThread(thread.id, { leaf: messageId }).catch(() => {})
    } catch (cause) {
      core.deps.events.onTrouble('branch', () => void this.goTo(messageId), cause)
    }
  }

  /** Reads the page before the oldest message at hand. A call made while it is being read waits for the same page. */
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
      // The branch may have been left meanwhile.
      const same = core.state.turns[0]?.message.id === turns[0]?.message.id
      const all = same ? prependOlder(core.state.turns, page) : core.state.turns
      core.set({ turns: all, older: (page.length > 0 || !same) && hasOlder(all) ? 'more' : 'end' })
    } catch {
      core.set({ older: 'failed' })
    }
  }

  /** Reads until a message is at hand; answers whether it is part of the branch. */
  async loadUntil(messageId: string): Promise<boolean> {
    for (;;) {
      const { turns, older } = this.core.state
      if (turns.some((turn) => turn.message.id === messageId)) return true
      if (older !== 'more' && older !== 'loading') return false
      await this.loadOlder()
    }
  }

  /** Reads all there is, for saving and printing. */
  async loadAll(): Promise<void> {
    while (this.core.state.older !== 'end') {
      await this.loadOlder()
      if (this.core.state.older === 'failed') throw new Error('older messages could not be read')
    }
  }

  /**
   * Reads the newest messages again: something has changed elsewhere, or an answer has ended. A call made during
   * another one gets an answer that was asked for after it.
   */
  refresh(limit = MESSAGE_PAGE): Promise<void> {
    const { thread, turns } = this.core.state
    if (thread === null) return Promise.resolve()
    if (hasPending(turns)) {
      this.core.heard.add(anything)
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
      if (core.state.elsewhere?.running) this.changed(await core.deps.api.getThread(threadId))
      page = await core.deps.api.listMessages(threadId, { ...leaf, offset: 0, limit })
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 404) this.vanished()
      return
    }
    // What is shown ahead may be in the page under an id that is not known here yet.
    if (hasPending(core.state.turns)) {
      core.heard.add(anything)
      return
    }
    if (core.version !== version) return this.#readNewest(threadId, MESSAGE_PAGE)
    if (hasGap(core.state.turns, page) && limit < MESSAGE_PAGE)
      return this.#readNewest(threadId, MESSAGE_PAGE, leaf)
    // What lies between comes when the reader scrolls up to it, and what lies before with it.
    this.#setBranch(mergeNewest(core.state.turns, page))
  }

  /** Shows a branch, and joins its last answer if that is being written. */
  #setBranch(turns: readonly Turn[]): void {
    const { older, elsewhere } = this.core.state
    const shown = turns.some((turn) => turn.message.id === elsewhere?.id)
    const reading = older === 'loading' || older === 'failed' ? older : 'more'
    this.core.set({ turns, older: hasOlder(turns) ? reading : 'end', ...(shown && { elsewhere: null }) })
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

  /** The server has told of a message: asked, begun, ended or rated, here or on another device. */
  told(message: LiveMessage): void {
    const { elsewhere, turns } = this.core.state
    if (elsewhere?.id === message.id && !isRunning(message)) this.settleElsewhere()
    if (hasPending(turns)) {
      this.core.heard.add(message.id)
      return
    }
    const turn = turns.find((item) => item.message.id === message.id)
    // The stream of an answer that is being written tells of it by itself.
    if (turn !== undefined && (isWriting(turn) || sameOutcome(turn.message, message))) return
    const last = turns.at(-1)?.message
    const again =
      message.role === 'assistant' &&
      message.parent_id === last?.parent_id &&
      last?.siblings?.includes(message.id) !== true
    // The reader goes along where the last answer is asked again, and stays where a branch begins further up, or where
    // an alternative is rated that the reader has left.
    if (turn === undefined && again) this.#follow(message.id)
    else void this.refresh().then(() => this.#notice(message))
  }

  #follow(messageId: string): void {
    const threadId = this.core.state.thread?.id
    if (threadId !== undefined) void this.#readNewest(threadId, MESSAGE_PAGE, { leaf: messageId })
  }

  /** Notes that a branch has begun elsewhere, beside what is on the screen. */
  #notice(message: LiveMessage): void {
    const { turns, elsewhere } = this.core.state
    const { id, role, parent_id } = message
    if (turns.length === 0 || turns.some((turn) => turn.message.id === id)) return
    const beside = parent_id === undefined || turns.some((turn) => turn.message.id === parent_id)
    const running = isRunning(message)
    if (role === 'user' && beside) this.core.set({ elsewhere: { id, running: true } })
    const followed = elsewhere?.id != null && (elsewhere.id === id || elsewhere.id === parent_id)
    if (role === 'assistant' && (followed || (beside && running)))
      this.core.set({ elsewhere: { id, running } })
  }

  settleElsewhere(): void {
    const { elsewhere } = this.core.state
    if (elsewhere === null) return
    this.core.set({ elsewhere: elsewhere.id === null ? null : { ...elsewhere, running: false } })
  }

  /** The thread is called otherwise now, or its answer has ended. */
  changed(thread: Thread): void {
    if (this.core.state.thread !== null) this.core.set({ thread })
    if (!thread.running) this.settleElsewhere()
  }

  /** The thread is gone. */
  vanished(): void {
    if (this.core.state.thread !== null) this.core.set({ gone: true })
  }

  /** Reads again if something was told meanwhile that was not about the question that was on its way. */
  catchUp(): void {
    const { turns } = this.core.state
    if (hasPending(turns)) return
    const known = new Set(turns.map((turn) => turn.message.id))
    const missed = [...this.core.heard].some((id) => !known.has(id))
    this.core.heard.clear()
    if (missed) void this.refresh()
  }
}

/** Names the branch that the turns are of. */
function leafOf(turns: readonly Turn[]): { leaf?: string } {
  const last = turns.findLast((turn) => !turn.pending)
  return last === undefined ? {} : { leaf: last.message.id }
}
