import { open, signed, take } from './http'
import type {
  AppConfig,
  AuthTypeAnswer,
  Category,
  Exchange,
  FavoriteSkill,
  Feedback,
  FeedbackRequest,
  Me,
  Message,
  MessageRequest,
  Notification,
  OwnUsage,
  Skill,
  Thread,
  ThreadEditRequest,
} from './types'

/** A page of a list: the number of items to skip, and the maximum number to return. */
export interface Page {
  offset: number
  limit: number
}

/** The sign-in method of an address. */
export async function authType(email: string): Promise<AuthTypeAnswer> {
  return take(open.POST('/v1/auth-type', { body: { email } }))
}

/** Ends the session on the server, and returns the next URL. */
export async function signOut(signal: AbortSignal): Promise<string> {
  return (await take(signed.POST('/v1/signout', { signal }))).sign_out_url
}

/** The signed-in user. */
export async function me(signal?: AbortSignal): Promise<Me> {
  return take(signed.GET('/v1/me', { signal: signal ?? null }))
}

/** The signed-in user's usage in this month. */
export async function ownUsage(signal?: AbortSignal): Promise<OwnUsage> {
  return take(signed.GET('/v1/me/usage', { signal: signal ?? null }))
}

/** Brand, external links and tag manager. */
export async function appConfig(): Promise<AppConfig> {
  return take(open.GET('/config.json'))
}

/** Categories of skills, by position. */
export async function listCategories(page: Page, signal?: AbortSignal): Promise<Category[]> {
  return (await take(signed.GET('/v1/category', { params: { query: page }, signal: signal ?? null }))).items
}

/** Skills, by category and position. */
export async function listSkills(page: Page, signal?: AbortSignal): Promise<Skill[]> {
  return (await take(signed.GET('/v1/skill', { params: { query: page }, signal: signal ?? null }))).items
}

/** One skill. */
export async function getSkill(skillId: string, signal?: AbortSignal): Promise<Skill> {
  const params = { path: { skill_id: skillId } }
  return take(signed.GET('/v1/skill/{skill_id}', { params, signal: signal ?? null }))
}

/** The user's favourite skills, newest first. */
export async function listFavoriteSkills(page: Page, signal?: AbortSignal): Promise<FavoriteSkill[]> {
  return (await take(signed.GET('/v1/favorite_skill', { params: { query: page }, signal: signal ?? null })))
    .items
}

/** Makes a skill a favourite. */
export async function addFavoriteSkill(skillId: string): Promise<void> {
  await take(signed.POST('/v1/favorite_skill', { body: { skill_id: skillId } }))
}

/** Removes a skill from the favourites. */
export async function removeFavoriteSkill(skillId: string): Promise<void> {
  await take(signed.DELETE('/v1/favorite_skill', { body: { skill_id: skillId } }))
}

/** Notices, newest first. */
export async function listNotifications(page: Page, signal?: AbortSignal): Promise<Notification[]> {
  return (await take(signed.GET('/v1/notification', { params: { query: page }, signal: signal ?? null })))
    .items
}

/** Marks notices as read. */
export async function readNotifications(ids: string[]): Promise<void> {
  await take(signed.PUT('/v1/notification/read', { body: { ids } }))
}

/** The user's threads, last touched first. */
export async function listThreads(page: Page, signal?: AbortSignal): Promise<Thread[]> {
  return (await take(signed.GET('/v1/thread', { params: { query: page }, signal: signal ?? null }))).items
}

/** Threads whose title or messages contain all words of a query, last touched first, each with its match. */
export async function searchThreads(query: string, page: Page, signal?: AbortSignal): Promise<Thread[]> {
  const params = { query: { ...page, q: query } }
  return (await take(signed.GET('/v1/thread', { params, signal: signal ?? null }))).items
}

/** Archived threads, last touched first. */
export async function listArchivedThreads(page: Page, signal?: AbortSignal): Promise<Thread[]> {
  const params = { query: { ...page, archived: true } }
  return (await take(signed.GET('/v1/thread', { params, signal: signal ?? null }))).items
}

/** Creates a thread. A retry with the same request id returns the same thread. */
export async function createThread(request: {
  request_id: string
  skill_id: string
  title?: string
  temporary?: boolean
}): Promise<Thread> {
  return take(signed.POST('/v1/thread', { body: request }))
}

/** One thread. */
export async function getThread(threadId: string, signal?: AbortSignal): Promise<Thread> {
  const params = { path: { thread_id: threadId } }
  return take(signed.GET('/v1/thread/{thread_id}', { params, signal: signal ?? null }))
}

/** Changes a thread's title, its pin or archive state, or its displayed branch. */
export async function editThread(threadId: string, request: ThreadEditRequest): Promise<Thread> {
  // keepalive: a reload right after switching must show the chosen branch.
  const params = { path: { thread_id: threadId } }
  return take(signed.PUT('/v1/thread/{thread_id}', { params, body: request, keepalive: true }))
}

/** Deletes a thread with its messages. */
export async function deleteThread(threadId: string): Promise<void> {
  // keepalive: a pending deletion is sent when the page closes.
  const params = { path: { thread_id: threadId } }
  await take(signed.DELETE('/v1/thread/{thread_id}', { params, keepalive: true }))
}

/** Moves a thread to the top of the list, in every open tab. */
export async function touchThread(threadId: string): Promise<Thread> {
  return take(signed.PUT('/v1/thread/{thread_id}/touch', { params: { path: { thread_id: threadId } } }))
}

/** The messages of a branch of a thread, newest first: the branch through `leaf`, or the last displayed one. */
export async function listMessages(
  threadId: string,
  page: Page & { readonly leaf?: string },
  signal?: AbortSignal,
): Promise<Message[]> {
  const query = { thread_id: threadId, ...page }
  return (await take(signed.GET('/v1/message', { params: { query }, signal: signal ?? null }))).items
}

/** Asks a question, and returns it at once with the pending answer. */
export async function askMessage(request: MessageRequest): Promise<Exchange> {
  return take(signed.POST('/v1/message/async', { body: request }))
}

/** Stops an answer. The server keeps its text so far. */
export async function stopMessage(messageId: string): Promise<void> {
  await take(signed.POST('/v1/message/{message_id}/stop', { params: { path: { message_id: messageId } } }))
}

/** Rates an answer. A new rating replaces the earlier one. */
export async function giveFeedback(request: FeedbackRequest): Promise<Feedback> {
  return take(signed.POST('/v1/message_feedback', { body: request }))
}

/** Removes the rating of an answer. */
export async function withdrawFeedback(messageId: string): Promise<void> {
  const path = { message_id: messageId }
  await take(signed.DELETE('/v1/message_feedback/{message_id}', { params: { path } }))
}

/** All items of a list, a hundred at a time. */
export async function listAll<T>(list: (page: Page) => Promise<T[]>): Promise<T[]> {
  const limit = 100
  const all: T[] = []
  for (;;) {
    const page = await list({ offset: all.length, limit })
    all.push(...page)
    if (page.length < limit) return all
  }
}
