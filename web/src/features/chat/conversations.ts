import { refreshModels } from '@/entities/model/models'
import { session } from '@/entities/session/session'
import { rememberSources } from '@/entities/source/dataSources'
import { discardThread, patchThread, titleThread, upsertThread } from '@/entities/thread/threads'
import { ApiError, api, type Thread } from '@/lib/api'
import { decideChanges } from '@/lib/api/proofreads'
import { browserLocks, newTabId, PageLocks } from '@/lib/browser/locks'
import { live } from '@/lib/live'
import {
  AnswerStreams,
  browserFrames,
  browserWake,
  type LiveAnswer,
  LockSlots,
  type SlotChannel,
} from '@/lib/stream'
import { store } from '@/lib/ui/store'
import { toastFailure } from '@/lib/ui/toast'
import { clearAdded, giveBackAttachments } from './attachments'
import { Conversation } from './conversation'
import { type ConversationEvents, isBusy } from './conversationState'
import { draftKey, giveBack, moveDraft, takeBack } from './drafts'
import { describeFailure } from './failures'
import { enqueue, settleQueue } from './queue'
import { QueueSender } from './sender'
import { texts } from './texts'
import { aheadId, isRunning } from './turns'
import { wishOf } from './wishes'

/** How many conversations that are not on the screen are kept, to show them again at once. */
const maxKept = 20

const byThread = new Map<string, Conversation>()
const byLive = new Map<string, Conversation>()

/** Conversations for the page of their skill: their first question was refused, or has been asked from another page. */
const unbegun = new Map<string, Conversation>()

/** The conversations that are on the screen. */
const shown = new Set<Conversation>()

/** The live answers of this tab. */
export const streams = new AnswerStreams({
  store,
  connection: {
    fetch: session.fetch,
    wake: browserWake,
    now: () => Date.now(),
    random: Math.random,
  },
  frames: browserFrames,
  slots: (needs) =>
    new LockSlots({
      locks: browserLocks() ?? new PageLocks(),
      channel:
        typeof BroadcastChannel === 'undefined'
          ? null
          : (new BroadcastChannel('tsumugi-stream') as unknown as SlotChannel),
      id: newTabId(),
      ...needs,
    }),
  visibility: (listener) => {
    const tell = () => listener(document.visibilityState === 'hidden')
    document.addEventListener('visibilitychange', tell)
    return () => document.removeEventListener('visibilitychange', tell)
  },
  observer: {
    onStart: (live, view) => {
      if (view.threadId !== null && view.userMessageId !== null)
        settleQueue(view.threadId, aheadId(live.key), view.userMessageId)
      owner(live, view.threadId)?.started(live, view)
    },
    onTitle: (live, view) => {
      if (view.title === null) return
      owner(live, view.threadId)?.titled(view.title)
      if (view.threadId !== null) titleThread(view.threadId, view.title)
    },
    onEnd: (live, view, text) => {
      const conversation = owner(live, view.threadId)
      byLive.delete(live.key)
      conversation?.ended(live, view, text)
    },
  },
})

const events: ConversationEvents = {
  onThread: upsertThread,
  onUnused: (conversation, thread) => {
    byThread.delete(thread.id)
    unbegun.set(conversation.skillId, conversation)
    moveDraft(conversation.skillId, thread.id)
    void discardThread(thread.id)
  },
  onRunning: (threadId, running) =>
    patchThread(threadId, { running, ...(running && { touched_at: new Date().toISOString() }) }),
  onQuestionLost: (conversation, { question, place, cause }) => {
    if ('code' in cause && cause.code === 'model_not_allowed') void refreshModels()
    // What was edited is still where it was edited.
    if (question.kind !== 'text' || 'edit' in place) return
    const key = draftKey(conversation.skillId, conversation.state.thread?.id)
    if (question.onLost) question.onLost()
    else if (giveBack(key, question.content)) giveBackAttachments(key, question)
  },
  onQuestionRetried: (conversation, question) => {
    const key = draftKey(conversation.skillId, conversation.state.thread?.id)
    if (takeBack(key, question.content)) clearAdded(key)
  },
  onTrouble: (what, retry, cause) => {
    const message = {
      regenerate: texts.failure.regenerate,
      stop: texts.failure.stop,
      feedback: texts.feedback.failed,
      branch: texts.branches.failed,
      decide: texts.failure.decide,
    }
    toastFailure(`${message[what]}${describeFailure(cause)}`, retry)
  },
}

function make(skillId: string, thread: Thread | null, begin = createThread): Conversation {
  const conversation: Conversation = new Conversation(
    skillId,
    {
      store,
      streams: {
        send: (id, body) => own(streams.send(id, body), conversation),
        attach: (id, threadId) => own(streams.attach(id, threadId), conversation),
        find: (id) => streams.find(id),
        watch: (live) => streams.watch(live),
      },
      api: {
        createThread: begin,
        getThread: api.getThread,
        editThread: api.editThread,
        listMessages: api.listMessages,
        stopMessage: api.stopMessage,
        giveFeedback: api.giveFeedback,
        withdrawFeedback: api.withdrawFeedback,
        decideChanges,
      },
      events: {
        ...events,
        onThread: (made) => {
          keep(made.id, conversation)
          events.onThread(made)
        },
      },
      wish: wishOf,
      newId: () => crypto.randomUUID(),
      now: () => new Date().toISOString(),
    },
    thread,
  )
  sender.follow(conversation)
  return conversation
}

const sender = new QueueSender()

/** Sends the next question that waits in a thread, also behind an answer that was stopped or has failed. */
export function sendQueued(conversation: Conversation): void {
  void sender.send(conversation, true)
}

/** Has a question wait until the answer that is being written is over. */
export function askLater(
  conversation: Conversation,
  threadId: string,
  question: Parameters<typeof enqueue>[1],
): void {
  const after = conversation.state.turns.findLast((turn) => turn.message.role === 'user')?.message.id
  enqueue(threadId, { ...question, wish: question.wish ?? wishOf(conversation.skillId) }, after)
  // The answer may have ended meanwhile.
  void sender.send(conversation)
}

/** Asks for a composer that is not on the screen any more: at once, or after the answer that is being written. */
export function askInBackground(conversation: Conversation, question: Parameters<typeof enqueue>[1]): void {
  const threadId = conversation.state.thread?.id
  if (threadId !== undefined && isBusy(conversation.state)) askLater(conversation, threadId, question)
  else void conversation.ask({ kind: 'text', ...question })
}

/** How long a thread is tried to be made while the server is away for a moment, and how often. */
const makeForMs = 15_000
const makeEveryMs = 2000

/** Makes a thread. The same request makes it once, so a server that is being restarted is waited for. */
async function createThread(request: Parameters<typeof api.createThread>[0]): Promise<Thread> {
  const until = Date.now() + makeForMs
  for (;;) {
    try {
      return await api.createThread(request)
    } catch (cause) {
      const passing = cause instanceof ApiError && (cause.offline || [429, 502, 503].includes(cause.status))
      if (!passing || Date.now() + makeEveryMs > until) throw cause
      await new Promise((resolve) => setTimeout(resolve, makeEveryMs))
    }
  }
}

function own(live: LiveAnswer, conversation: Conversation): LiveAnswer {
  byLive.set(live.key, conversation)
  return live
}

function owner(live: LiveAnswer, threadId: string | null): Conversation | undefined {
  return byLive.get(live.key) ?? (threadId === null ? undefined : byThread.get(threadId))
}

function keep(threadId: string, conversation: Conversation): void {
  byThread.delete(threadId)
  byThread.set(threadId, conversation)
  const busy = new Set(byLive.values())
  for (const [id, other] of byThread) {
    if (byThread.size <= maxKept) return
    if (!busy.has(other)) byThread.delete(id)
  }
}

/** A conversation that has no thread yet; if there is one whose first question has just been refused, that one. */
export function newConversation(skillId: string): Conversation {
  return unbegun.get(skillId) ?? make(skillId, null)
}

/** A conversation with a skill that is not saved: its first question begins the thread by `start`. */
export function newTrial(skillId: string, start: (requestId: string) => Promise<Thread>): Conversation {
  return make(skillId, null, ({ request_id }) => start(request_id))
}

/** Has the page of the skill, which is opened next, show a conversation that has been asked something already. */
export function beginWith(conversation: Conversation): void {
  unbegun.set(conversation.skillId, conversation)
}

/** Says that the conversation without a thread is on the screen: the next one is a new one. */
export function begin(skillId: string): void {
  unbegun.delete(skillId)
}

/** The conversation of a thread, as far as this tab has one. */
export function findConversation(threadId: string): Conversation | undefined {
  return byThread.get(threadId)
}

/** The conversation of a thread, made if this tab has none. */
export function openConversation(skillId: string, thread: Thread): Conversation {
  rememberSources(thread.data_sources)
  const known = byThread.get(thread.id)
  const conversation = known ?? make(skillId, thread)
  keep(thread.id, conversation)
  return conversation
}

/**
 * The thread that is being read to be shown, and whether something was told meanwhile that the answer may not know of.
 */
let opening: { readonly threadId: string; outdated: boolean } | null = null

/** Says that a thread is about to be read and shown. What is told of it from now on will be shown. */
export function expectThread(threadId: string): void {
  opening = { threadId, outdated: false }
}

function outdateOpening(threadId: string): void {
  if (opening?.threadId === threadId) opening.outdated = true
}

/** Brings a conversation up to date that is to be shown: one that is on the screen already stays in its branch. */
export function reopen(conversation: Conversation): void {
  void (shown.has(conversation) ? conversation.refresh() : conversation.reopen())
}

/** Says that a conversation is on the screen, until the returned function is called: it is kept up to date. */
export function show(conversation: Conversation): () => void {
  shown.add(conversation)
  if (opening !== null && opening.threadId === conversation.state.thread?.id) {
    if (opening.outdated) void conversation.refresh()
    opening = null
  }
  return () => shown.delete(conversation)
}

live.on('thread', ({ id, thread }) => {
  if (thread !== undefined) {
    rememberSources(thread.data_sources)
    byThread.get(thread.id)?.changed(thread)
    return
  }
  byThread.get(id)?.vanished()
  byThread.delete(id)
  outdateOpening(id)
})

live.on('message', ({ message }) => {
  if (!isRunning(message)) streams.conclude(message.id)
  const conversation = byThread.get(message.thread_id)
  // One that is not on the screen is read anew when it is opened.
  if (conversation !== undefined && shown.has(conversation)) conversation.told(message)
  else outdateOpening(message.thread_id)
})

// What has just been decided is not left behind.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'hidden') return
  for (const conversation of byThread.values()) conversation.leave()
})

// Answers that ended unheard are found by their own streams.
live.onMissed(() => {
  if (opening !== null) opening.outdated = true
  for (const conversation of shown) void conversation.refresh()
})
