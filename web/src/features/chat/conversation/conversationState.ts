import type { createStore } from 'jotai'
import type { NewThreadProject } from '@/entities/thread/newChat'
import type { Arguments, Feedback, FeedbackRequest, Message, Page, Picture, Thread } from '@/lib/api'
import { type AnswerStreams, StreamFailure } from '@/lib/stream'
import type { DecisionLists } from '../proofread/review'
import type { texts } from '../texts'
import type { ModelSelection } from './modelSelection'
import { isWriting, type Turn } from './turns'

/** Question is a user's question: text, or the values of a form with the text that the thread will show for them. */
export type Question = (TextQuestion | FormQuestion) & {
  /** The chosen model; if missing, the one chosen at the time of asking. */
  readonly modelSelection?: ModelSelection
  /** The number of tokens that the user has accepted for the answer. */
  readonly acceptTokens?: number
}

/** QuestionContent is the text and the attachments of a question. */
export interface QuestionContent {
  readonly content: string
  /** The ids of the data sources to use; if missing, all of the thread. */
  readonly sources?: readonly string[]
  /** The pictures; if missing, those of the question that it replaces. */
  readonly pictures?: readonly Picture[]
}

export interface TextQuestion extends QuestionContent {
  readonly kind: 'text'
  readonly onTaken?: () => void
  /** Called instead of returning the text to the composer. */
  readonly onLost?: () => void
}

type FormQuestion = {
  readonly kind: 'form'
  readonly form: Readonly<Record<string, string>>
  readonly content: string
  /** Called after the server has accepted the question. */
  readonly onTaken: () => void
}

/** Place is the position of a question in its thread: after an answer, or in place of another question. */
export type Place = { readonly parent_id?: string } | { readonly edit: string }

/** OtherBranch is an answer in a branch that is not on the screen. */
export interface OtherBranch {
  /** The id of a message in that branch; null while unknown. */
  readonly id: string | null
  readonly running: boolean
}

/** SendFailure is a question that could not be sent. `retry` repeats the same request. */
export interface SendFailure {
  readonly requestId: string
  readonly question: Question
  readonly place: Place
  readonly cause: StreamFailure | Error
  readonly retry: () => void
}

/** CostlyAnswer is an answer that takes many tokens and begins only after the user accepts them. */
export interface CostlyAnswer {
  readonly tokens: number
  readonly proceed: () => void
}

/**
 * tokensToAccept returns the number of tokens that the user must accept, if the server refused the question for that.
 */
export function tokensToAccept(cause: StreamFailure | Error): number | undefined {
  return cause instanceof StreamFailure ? cause.detail.estimatedTokens : undefined
}

export interface ConversationState {
  readonly thread: Thread | null
  /** The branch on the screen, oldest first. */
  readonly turns: readonly Turn[]
  readonly otherBranch: OtherBranch | null
  /** The id of the question being edited. */
  readonly editing: string | null
  readonly older: 'more' | 'loading' | 'failed' | 'end'
  readonly failure: SendFailure | null
  readonly costly: CostlyAnswer | null
  /** Whether a stop is requested and not yet complete. */
  readonly stopping: boolean
  /** Whether the thread has been deleted. */
  readonly gone: boolean
  /** Whether the thread is, or will be, temporary: in no list and deleted after a day. */
  readonly temporary: boolean
  /** The project of a new thread. A stored thread has its project in its record. */
  readonly project: NewThreadProject | null
}

/** NewThread is the request for a thread. A retry has the same id. */
export type NewThread = Arguments<'createThread'>['body'] & { request_id: string }

/** ConversationApi has the API calls of a conversation. */
export interface ConversationApi {
  readonly createThread: (request: NewThread) => Promise<Thread>
  readonly getThread: (threadId: string) => Promise<Thread>
  readonly editThread: (threadId: string, change: { leaf: string }) => Promise<Thread>
  readonly listMessages: (threadId: string, page: Page & { leaf?: string }) => Promise<Message[]>
  readonly stopMessage: (messageId: string) => Promise<void>
  readonly giveFeedback: (request: FeedbackRequest) => Promise<Feedback>
  readonly withdrawFeedback: (messageId: string) => Promise<void>
  readonly suggestQuestions: (messageId: string) => Promise<string[]>
  readonly decideChanges: (messageId: string, decided: DecisionLists) => Promise<void>
}

/** ConversationEvents are the notifications of a conversation to the rest of the app. */
export interface ConversationEvents {
  readonly onThread: (thread: Thread) => void
  /** The server refused the question, so the thread that was created for it is not needed. */
  readonly onUnused: (thread: Thread) => void
  readonly onRunning: (threadId: string, running: boolean) => void
  /** The question returns to the composer or to the queue. `onQuestionRetried` removes it again. */
  readonly onQuestionLost: (failure: SendFailure) => void
  readonly onQuestionRetried: (failure: SendFailure) => void
  readonly onTrouble: (what: keyof typeof texts.trouble, retry: () => void, cause: unknown) => void
}

export interface ConversationDeps {
  readonly store: ReturnType<typeof createStore>
  readonly streams: Pick<AnswerStreams, 'send' | 'attach' | 'find' | 'watch'>
  readonly api: ConversationApi
  readonly events: ConversationEvents
  /** Returns the model choice for questions to a skill. */
  readonly modelSelection: (skillId: string) => ModelSelection
  readonly newId: () => string
  readonly now: () => string
}

/** isBusy reports whether an answer is running or requested in any branch of the thread. */
export function isBusy({ turns, otherBranch: elsewhere }: ConversationState): boolean {
  return isWriting(turns.at(-1)) || elsewhere?.running === true
}
