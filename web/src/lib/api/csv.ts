import type { AuditQuery } from './admin'
import type { FeedbackQuery } from './feedback'
import { signed, take } from './http'

// The files are text, with the byte order mark that Excel needs: read as text, it would be lost.
const blob = async (answer: Promise<unknown>) => (await answer) as Blob

/** The usage by day and member, or by day and model, from one day to another, both included. */
export function exportUsage(from: string, to: string, by: 'member' | 'model'): Promise<Blob> {
  return blob(
    take(signed.GET('/v1/contract/usage/csv', { params: { query: { from, to, by } }, parseAs: 'blob' })),
  )
}

/** All members. */
export function exportMembers(): Promise<Blob> {
  return blob(take(signed.GET('/v1/user/csv', { parseAs: 'blob' })))
}

/** The entries of the audit log that the query selects. */
export function exportAudit(query: AuditQuery): Promise<Blob> {
  return blob(take(signed.GET('/v1/audit/csv', { params: { query }, parseAs: 'blob' })))
}

/** The ratings that the query selects. */
export function exportFeedback(query: FeedbackQuery): Promise<Blob> {
  return blob(take(signed.GET('/v1/organization/feedback/csv', { params: { query }, parseAs: 'blob' })))
}
