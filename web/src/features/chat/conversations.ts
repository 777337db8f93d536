import { api, type Thread } from '@/lib/api'
import { session } from '@/lib/session'
import { store } from '@/lib/store'
import { AnswerStreams, browserFrames, browserWake, type LiveAnswer } from '@/lib/stream'
import { patchThread, upsertThread } from '@/lib/threads'
import { toastFailure } from '@/lib/toast'
import { Conversation, type ConversationEvents } from './conversation'
import { draftKey, giveBack, takeBack } from './drafts'
import { describeFailure } from './failures'
import { texts } from './texts'

/** Conversations that nobody looks at are kept for coming back, up to this many. */
const maxKept = 20

/** What tabs of this browser tell each other. */
type TabNews =
  | { readonly type: 'started'; readonly threadId: string; readonly thread: Thread | null }
  | { readonly type: 'ended'; readonly threadId: string; readonly title: string | null }

const byThread = new Map<string, Conversation>()
const byLive = new Map<string, Conversation>()

const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('tsumugi-chat')
tabs?.addEventListener('message', (event: MessageEvent<TabNews>) => hear(event.data))

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
  visibility: (listener) => {
    const tell = () => listener(document.visibilityState === 'hidden')
    document.addEventListener('visibilitychange', tell)
    return () => document.removeEventListener('visibilitychange', tell)
  },
  observer: {
    onStart: (live, view) => {
      const conversation = owner(live, view.threadId)
      conversation?.started(live, view)
      const threadId = conversation?.state.thread?.id
      if (threadId) tell({ type: 'started', threadId, thread: conversation.state.thread })
    },
    onTitle: (live, view) => {
      if (view.title === null) return
      owner(live, view.threadId)?.titled(view.title)
      if (view.threadId !== null) patchThread(view.threadId, { title: view.title })
    },
    onEnd: (live, view, text) => {
      const conversation = owner(live, view.threadId)
      byLive.delete(live.key)
      conversation?.ended(live, view, text)
      const threadId = conversation?.state.thread?.id
      if (threadId) tell({ type: 'ended', threadId, title: view.title })
    },
  },
})

const events: ConversationEvents = {
  onThread: upsertThread,
  onRunning: (threadId, running) =>
    patchThread(threadId, { running, ...(running && { touched_at: new Date().toISOString() }) }),
  onQuestionLost: (conversation, { question }) => {
    if (question.kind !== 'text') return
    giveBack(draftKey(conversation.skillId, conversation.state.thread?.id), question.content)
  },
  onQuestionRetried: (conversation, question) => {
    takeBack(draftKey(conversation.skillId, conversation.state.thread?.id), question.content)
  },
  onTrouble: (what, retry, cause) => {
    const message = {
      regenerate: texts.failure.regenerate,
      stop: texts.failure.stop,
      feedback: texts.feedback.failed,
    }
    toastFailure(`${message[what]}${describeFailure(cause)}`, retry)
  },
}

function make(skillId: string, thread: Thread | null): Conversation {
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
      api,
      events: {
        ...events,
        onThread: (made) => {
          keep(made.id, conversation)
          events.onThread(made)
        },
      },
      newId: () => crypto.randomUUID(),
      now: () => new Date().toISOString(),
    },
    thread,
  )
  return conversation
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

/** A conversation that has no thread yet. */
export function newConversation(skillId: string): Conversation {
  return make(skillId, null)
}

/** The conversation of a thread, as far as this tab has one. */
export function findConversation(threadId: string): Conversation | undefined {
  return byThread.get(threadId)
}

/** The conversation of a thread, made if this tab has none. */
export function openConversation(skillId: string, thread: Thread): Conversation {
  const known = byThread.get(thread.id)
  const conversation = known ?? make(skillId, thread)
  keep(thread.id, conversation)
  return conversation
}

function tell(news: TabNews): void {
  tabs?.postMessage(news)
}

function hear(news: TabNews): void {
  if (news.type === 'started') {
    if (news.thread) upsertThread({ ...news.thread, running: true, touched_at: new Date().toISOString() })
    void byThread.get(news.threadId)?.refresh()
  } else {
    patchThread(news.threadId, { running: false, ...(news.title !== null && { title: news.title }) })
  }
}
