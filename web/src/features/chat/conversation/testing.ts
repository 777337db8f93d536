import { atom, createStore, type PrimitiveAtom } from 'jotai'
import { vi } from 'vitest'
import type { Message, Page, Thread } from '@/lib/api'
import type { AnswerView, LiveAnswer } from '@/lib/stream'
import { Conversation } from './conversation'
import type { ConversationEvents } from './conversationState'
import type { ModelSelection } from './modelSelection'

export const thread: Thread = {
  id: 't',
  skill: { id: 's', name: '汎用', icon_path: '/i.svg' },
  title: '',
  created_at: '2026-03-04T05:06:07Z',
  updated_at: '2026-03-04T05:06:07Z',
  touched_at: '2026-03-04T05:06:07Z',
  running: false,
  pinned: false,
  archived: false,
  data_sources: [],
}

const idOf = (n: number) => `m${String(n).padStart(3, '0')}`

export const message = (n: number, change: Partial<Message> = {}): Message => ({
  id: idOf(n),
  thread_id: 't',
  ...(n > 1 && { parent_id: idOf(n - 1) }),
  siblings: [idOf(n)],
  role: n % 2 === 1 ? 'user' : 'assistant',
  content: `本文${n}`,
  status: 'success',
  citations: [],
  steps: [],
  created_at: '2026-03-04T05:06:07Z',
  ...change,
})

const blankView: AnswerView = {
  messageId: null,
  userMessageId: null,
  threadId: 't',
  run: 0,
  hasText: false,
  rewriting: false,
  stalled: false,
  thinking: null,
  steps: [],
  toolCalls: [],
  sources: [],
  citations: null,
  proofread: null,
  title: null,
  outcome: null,
  line: 'open',
  busyUntil: null,
  ending: null,
}

/** branch returns the messages of the branch that ends at `leaf`, newest first, as the server does. */
function branch(messages: readonly Message[], leaf = messages.at(-1)?.id): Message[] {
  let end = messages.find(({ id }) => id === leaf)
  for (const message of messages) if (message.parent_id === end?.id) end = message
  const way: Message[] = []
  for (let next = end; next; next = messages.find(({ id }) => id === way.at(-1)?.parent_id)) way.push(next)
  return way
}

/**
 * setup returns a conversation with a server that holds `messages` (oldest first) and with streams that the test
 * controls.
 */
export function setup(messages: Message[] = [], store = createStore()) {
  const views = new Map<string, PrimitiveAtom<AnswerView>>()
  const sent: { requestId: string; body: unknown }[] = []
  const make = (key: string, view: AnswerView): LiveAnswer => {
    const viewAtom = atom(view)
    views.set(key, viewAtom)
    return { key, textAtom: atom(''), reasoningAtom: atom(''), viewAtom }
  }
  const streams = {
    send: (requestId: string, body: unknown) => {
      sent.push({ requestId, body })
      return make(requestId, blankView)
    },
    attach: (messageId: string, threadId: string) => make(messageId, { ...blankView, messageId, threadId }),
    find: () => undefined,
    watch: () => () => {},
  }
  const api = {
    createThread: vi.fn(async () => thread),
    getThread: vi.fn(async () => thread),
    editThread: vi.fn(async () => thread),
    listMessages: vi.fn(async (_: string, { offset, limit, leaf }: Page & { leaf?: string }) =>
      branch(messages, leaf).slice(offset, offset + limit),
    ),
    stopMessage: vi.fn(async () => {}),
    withdrawFeedback: vi.fn(async () => {}),
    suggestQuestions: vi.fn(async () => ['続きの質問']),
    decideChanges: vi.fn(async () => {}),
    giveFeedback: vi.fn(async (request: { message_id: string; rating: 'good' | 'bad' }) => request),
  }
  const events = {
    onThread: vi.fn(),
    onRunning: vi.fn(),
    onUnused: vi.fn(),
    onQuestionLost: vi.fn(),
    onQuestionRetried: vi.fn(),
    onTrouble: vi.fn<ConversationEvents['onTrouble']>(),
  }
  let id = 0
  const modelSelection: ModelSelection = {}
  const deps = {
    store,
    streams,
    api,
    events,
    modelSelection: () => ({ ...modelSelection }),
    newId: () => `r${++id}`,
    now: () => '2026-03-04T05:07:00Z',
  }
  const conversation = new Conversation('s', deps)
  const turns = () => conversation.state.turns
  const change = (live: LiveAnswer, patch: Partial<AnswerView>): AnswerView => {
    const viewAtom = views.get(live.key)
    if (viewAtom === undefined) throw new Error('no such stream')
    const next = { ...store.get(viewAtom), ...patch }
    store.set(viewAtom, next)
    return next
  }
  const live = () => turns().at(-1)?.live as LiveAnswer
  return { conversation, api, events, sent, turns, live, change, messages, modelSelection: modelSelection }
}

export const finished = {
  outcome: { kind: 'finished', reason: 'stop', usage: null },
  ending: { kind: 'done' },
} as const satisfies Partial<AnswerView>
