import type { createStore } from 'jotai'
import type { Feedback, FeedbackRequest, Message, Page, Picture, Thread } from '@/lib/api'
import { type AnswerStreams, StreamFailure } from '@/lib/stream'
import type { Conversation } from './conversation'
import type { DecisionLists } from './proofread/review'
import { isWriting, type Turn } from './turns'
import type { Wish } from './wishes'

/** What a person asks: text, or the values of a form with what the thread will show of them. */
export type Question = (TextQuestion | FormQuestion) & {
  /** The model that is to answer; missing: what is chosen when it is asked. */
  readonly wish?: Wish
  /** The number of tokens that the user has accepted for the answer. */
  readonly acceptTokens?: number
}

type TextQuestion = {
  readonly kind: 'text'
  readonly content: string
  /** The data sources that it is to be answered from; all of the thread if it is missing. */
  readonly sources?: readonly string[]
  /** Its pictures; those of the question that it replaces if it is missing. */
  readonly pictures?: readonly Picture[]
  readonly onTaken?: () => void
  /** Called instead of giving the text back to the composer. */
  readonly onLost?: () => void
}

type FormQuestion = {
  readonly kind: 'form'
  readonly form: Readonly<Record<string, string>>
  readonly content: string
  /** Called once the server has it. */
  readonly onTaken: () => void
}

/** Where in its thread a question stands: after an answer, or in place of another question. */
export type Place = { readonly parent_id?: string } | { readonly edit: string }

/**
 * An answer of the thread that is not on the screen, in a branch that was begun elsewhere or left while it was written.
 */
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

/** An answer that takes many tokens and begins when the user accepts them. */
export interface CostlyAnswer {
  readonly tokens: number
  readonly proceed: () => void
}

/** The number of tokens that the user has to accept, if the question was refused because of them. */
export function tokensToAccept(cause: StreamFailure | Error): number | undefined {
  return cause instanceof StreamFailure ? cause.detail.estimatedTokens : undefined
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
  readonly costly: CostlyAnswer | null
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
  readonly decideChanges: (messageId: string, decided: DecisionLists) => Promise<void>
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
    what: 'regenerate' | 'stop' | 'feedback' | 'branch' | 'decide',
    retry: () => void,
    cause: unknown,
  ) => void
}

export interface ConversationDeps {
  readonly store: ReturnType<typeof createStore>
  readonly streams: Pick<AnswerStreams, 'send' | 'attach' | 'find' | 'watch'>
  readonly api: ConversationApi
  readonly events: ConversationEvents
  /** The model that is chosen for questions of a skill. */
  readonly wish: (skillId: string) => Wish
  readonly newId: () => string
  readonly now: () => string
}

/** Whether an answer is being written or asked for in the thread, in whichever branch. */
export function isBusy({ turns, elsewhere }: ConversationState): boolean {
  return isWriting(turns.at(-1)) || elsewhere?.running === true
}
