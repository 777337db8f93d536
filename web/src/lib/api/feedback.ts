import type { Counted } from './admin'
import type { Page } from './client'
import { signed, take } from './http'
import type { OrganizationFeedback, SkillFeedback } from './types'

/** The filter of the ratings. Omitted fields match everything. */
export interface FeedbackQuery {
  rating?: 'good' | 'bad'
  skill_id?: string
  /** Part of a comment. */
  q?: string
  from?: string
  to?: string
}

/** The organization's ratings, newest first. For its administrators. */
export async function listFeedback(
  query: FeedbackQuery & Page,
  signal?: AbortSignal,
): Promise<Counted<OrganizationFeedback>> {
  return take(signed.GET('/v1/organization/feedback', { params: { query }, signal: signal ?? null }))
}

/** A rating, with the question and the answer if the user has sent them. */
export async function getFeedback(messageId: string, signal?: AbortSignal): Promise<OrganizationFeedback> {
  const params = { path: { message_id: messageId } }
  return take(signed.GET('/v1/organization/feedback/{message_id}', { params, signal: signal ?? null }))
}

/** The numbers of ratings by skill, most first. */
export async function countFeedback(
  query: Pick<FeedbackQuery, 'from' | 'to'>,
  signal?: AbortSignal,
): Promise<SkillFeedback[]> {
  const answer = signed.GET('/v1/organization/feedback/skill', { params: { query }, signal: signal ?? null })
  return (await take(answer)).items
}
