import { refreshModels } from '@/entities/model/models'
import { session } from '@/entities/session/session'
import { rememberSources } from '@/entities/source/dataSources'
import {
  discardThread,
  editThread,
  patchThread,
  titleThread,
  upsertThread,
  withOwn,
} from '@/entities/thread/threads'
import { ApiError, call, firstErrorMessage, type Thread } from '@/lib/api'
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
import { Conversation } from './conversation/conversation'
import {
  type ConversationEvents,
  isBusy,
  type NewThread,
  type QuestionContent,
  type SendFailure,
  type TextQuestion,
} from './conversation/conversationState'
import { describeFailure } from './conversation/failures'
import { modelSelectionOf } from './conversation/modelSelection'
import { isRunning, optimisticId } from './conversation/turns'
import { removeRestoredAttachments, restoreAttachments } from './draft/attachments'
import {
  draftAtom,
  draftKey,
  moveDraftToSkill,
  moveDraftToThread,
  removeRestoredDraft,
  restoreDraft,
} from './draft/drafts'
import { dequeue, enqueue, replaceOptimisticId } from './draft/queue'
import { QueueSender } from './draft/queueSender'
import { askInTurn, setWaiting } from './project/waiting'
import { texts } from './texts'

/** The maximum number of conversations to keep that are not on the screen. */
const maxCached = 20

const byThread = new Map<string, Conversation>()
const byLive = new Map<string, Conversation>()

/**
 * Conversations for the page of their skill, by skill id. Their first question was refused or asked on another page.
 */
const newConversations = new Map<string, Conversation>()

/** The conversations on the screen. */
const shown = new Set<Conversation>()

/** streams are the live answers of this tab. */
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
        replaceOptimisticId(view.threadId, optimisticId(live.key), view.userMessageId)
      owner(live, view.threadId)?.handleStart(live, view)
    },
    onTitle: (live, view) => {
      if (view.title === null) return
      owner(live, view.threadId)?.handleTitle(view.title)
      if (view.threadId !== null) titleThread(view.threadId, view.title)
    },
    onEnd: (live, view, text) => {
      const conversation = owner(live, view.threadId)
      byLive.delete(live.key)
      conversation?.handleEnd(live, view, text)
    },
  },
})

/** eventsOf returns the notifications of a conversation. They are first called after its construction. */
function eventsOf(of: () => Conversation): ConversationEvents {
  return {
    onThread: (thread) => {
      cacheConversation(thread.id, of())
      upsertThread(thread)
    },
    onUnused: (thread) => {
      const conversation = of()
      byThread.delete(thread.id)
      newConversations.set(conversation.skillId, conversation)
      moveDraftToSkill(conversation.skillId, thread.id)
      void discardThread(thread.id)
    },
    onRunning: (threadId, running) =>
      patchThread(threadId, { running, ...(running && { touched_at: new Date().toISOString() }) }),
    onQuestionLost: (failure) => {
      const { question, place, cause } = failure
      if ('code' in cause && cause.code === 'model_not_allowed') void refreshModels()
      // The text of an edited question is still in its editor.
      if (question.kind !== 'text' || 'edit' in place) return
      if (question.onLost) question.onLost()
      else returnQuestion(of(), question, failure)
    },
    onQuestionRetried: ({ question, requestId }) => {
      // A question of the queue stays there until the server has accepted it.
      if (question.kind !== 'text' || question.onLost) return
      const key = composerOf(of())
      const { thread } = of().state
      if (thread !== null) dequeue(thread.id, requestId)
      if (removeRestoredDraft(key, question.content)) removeRestoredAttachments(key, question)
    },
    onTrouble: (what, retry, cause) => toastFailure(texts.trouble[what] + describeFailure(cause), retry),
  }
}

/** composerOf returns the draft key of a conversation's composer. */
function composerOf({ skillId, state }: Conversation): string {
  return draftKey(skillId, state.thread?.id)
}

/**
 * returnQuestion returns a question that could not be sent to its composer. If the user is typing the next one, the
 * question waits in the queue instead. Without a thread there is no queue, so its text is put before the next one.
 */
function returnQuestion(
  conversation: Conversation,
  { kind: _, ...question }: TextQuestion,
  { requestId, place }: SendFailure,
): void {
  const key = composerOf(conversation)
  const { thread } = conversation.state
  if (thread === null || store.get(draftAtom(key)) === '') {
    restoreDraft(key, question.content)
    restoreAttachments(key, question)
    return
  }
  const parent = 'parent_id' in place && { parent: place.parent_id }
  enqueue(thread.id, { ...question, ...parent, id: requestId, failed: true }, lastQuestionId(conversation))
}

function lastQuestionId({ state }: Conversation): string | undefined {
  return state.turns.findLast((turn) => turn.message.role === 'user')?.message.id
}

function make(skillId: string, thread: Thread | null, releaseNewConversation = createThread): Conversation {
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
        createThread: async (request) => {
          const draft = store.get(draftAtom(draftKey(skillId, undefined)))
          const made = await releaseNewConversation(request)
          moveDraftToThread(skillId, made.id, draft)
          return made
        },
        getThread: (id) => call('getThread', { thread_id: id }),
        editThread,
        listMessages: async (threadId, page) => {
          const list = await call('listMessages', { thread_id: threadId, ...page })
          if (page.offset === 0) setWaiting(threadId, list.queue)
          return list.items
        },
        stopMessage: (id) => call('stopMessage', { message_id: id }),
        giveFeedback: (body) => call('giveFeedback', { body }),
        withdrawFeedback: (id) => call('withdrawFeedback', { message_id: id }),
        suggestQuestions: async (id) => (await call('suggestQuestions', { message_id: id })).items,
        // Recent decisions are sent when the page closes.
        decideChanges: (id, { accepted, refused }) => {
          const body = { accepted: [...accepted], refused: [...refused] }
          return call('decideChanges', { message_id: id, body, keepalive: true })
        },
      },
      events: eventsOf(() => conversation),
      modelSelection: modelSelectionOf,
      newId: () => crypto.randomUUID(),
      now: () => new Date().toISOString(),
    },
    thread,
  )
  sender.follow(conversation)
  return conversation
}

const sender = new QueueSender()

/** sendQueued sends the next queued question of a thread, even after an answer that was stopped or failed. */
export function sendQueued(conversation: Conversation): void {
  void sender.send(conversation, true)
}

/**
 * askLater asks a question while an answer is running: a shared thread has a queue on the server, which all of its
 * readers see; other questions wait in this browser.
 */
export function askLater(conversation: Conversation, thread: Thread, question: QuestionContent): void {
  const asked = {
    ...question,
    modelSelection: modelSelectionOf(conversation.skillId),
    id: crypto.randomUUID(),
  }
  if (thread.visibility !== 'project') {
    enqueue(thread.id, asked, lastQuestionId(conversation))
    // The answer may have ended already.
    void sender.send(conversation)
    return
  }
  askInTurn(thread.id, asked).then(
    () => void conversation.refresh(),
    (cause) => {
      // If only the response was lost, sending it from the queue does not ask it twice, because its id is the same.
      enqueue(thread.id, { ...asked, failed: true }, lastQuestionId(conversation))
      toastFailure(texts.project.waiting.notAsked(firstErrorMessage(cause)))
    },
  )
}

/**
 * askInBackground asks a question without showing it: at once or after the running answer.
 */
export function askInBackground(conversation: Conversation, question: QuestionContent): void {
  const { thread } = conversation.state
  if (thread !== null && isBusy(conversation.state)) askLater(conversation, thread, question)
  else void conversation.ask({ kind: 'text', ...question })
}

/** The duration and the interval of attempts to create a thread while the server is unreachable. */
const makeForMs = 15_000
const makeEveryMs = 2000

/** createThread creates a thread. It retries while the server restarts, with the same request id to create only one. */
async function createThread(body: NewThread): Promise<Thread> {
  const until = Date.now() + makeForMs
  for (;;) {
    try {
      return await call('createThread', { body })
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

function cacheConversation(threadId: string, conversation: Conversation): void {
  byThread.delete(threadId)
  byThread.set(threadId, conversation)
  const busy = new Set(byLive.values())
  for (const [id, other] of byThread) {
    if (byThread.size <= maxCached) return
    if (!busy.has(other)) byThread.delete(id)
  }
}

/** newConversation returns the skill's conversation whose first question was refused, or a new one without a thread. */
export function newConversation(skillId: string): Conversation {
  return newConversations.get(skillId) ?? make(skillId, null)
}

/** newTrial returns a conversation with an unsaved skill. `start` creates its thread with the first question. */
export function newTrial(skillId: string, start: (requestId: string) => Promise<Thread>): Conversation {
  return make(skillId, null, ({ request_id }) => start(request_id))
}

/** setNewConversation makes the skill's page, which opens next, show a conversation whose first question is already sent. */
export function setNewConversation(conversation: Conversation): void {
  newConversations.set(conversation.skillId, conversation)
}

/** begin marks the skill's conversation without a thread as used. The next newConversation creates another one. */
export function begin(skillId: string): void {
  newConversations.delete(skillId)
}

/** findConversation returns this tab's conversation of a thread, if any. */
export function findConversation(threadId: string): Conversation | undefined {
  return byThread.get(threadId)
}

/** openConversation returns the conversation of a thread. It creates one if this tab has none. */
export function openConversation(skillId: string, thread: Thread): Conversation {
  rememberSources(thread.data_sources)
  const known = byThread.get(thread.id)
  const conversation = known ?? make(skillId, thread)
  cacheConversation(thread.id, conversation)
  return conversation
}

/** The thread that is being loaded, and whether an event arrived that the response may lack. */
let opening: { readonly threadId: string; outdated: boolean } | null = null

/** expectThread announces that a thread is about to be loaded. Events from then on cause another load. */
export function expectThread(threadId: string): void {
  opening = { threadId, outdated: false }
}

function outdateOpening(threadId: string): void {
  if (opening?.threadId === threadId) opening.outdated = true
}

/** reopen updates a conversation before it is shown. A conversation on the screen stays in its branch. */
export function reopen(conversation: Conversation): void {
  void (shown.has(conversation) ? conversation.refresh() : conversation.reopen())
}

/** show keeps a conversation up to date while it is on the screen, until the returned function is called. */
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
    byThread.get(thread.id)?.handleThread(withOwn(thread))
    return
  }
  byThread.get(id)?.handleDeletion()
  byThread.delete(id)
  outdateOpening(id)
})

live.on('message', ({ message, thread_id }) => {
  if (message === undefined) {
    // A question waits no longer.
    const conversation = byThread.get(thread_id)
    if (conversation !== undefined && shown.has(conversation)) void conversation.refresh()
    return
  }
  if (!isRunning(message)) streams.conclude(message.id)
  const conversation = byThread.get(message.thread_id)
  // Other conversations are loaded again when they are opened.
  if (conversation !== undefined && shown.has(conversation)) conversation.handleMessage(message)
  else outdateOpening(message.thread_id)
})

// Save recent decisions before the page is hidden.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'hidden') return
  for (const conversation of byThread.values()) conversation.leave()
})

// The streams themselves detect answers that ended during a gap in the events.
live.onMissed(() => {
  if (opening !== null) opening.outdated = true
  for (const conversation of shown) void conversation.refresh()
})
