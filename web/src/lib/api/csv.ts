import type { AuditQuery } from './admin'
import type { FeedbackQuery } from './feedback'
import { signed, take } from './http'

// A blob, because reading the files as text would remove the byte order mark that Excel needs.
const blob = async (answer: Promise<unknown>) => (await answer) as Blob

/** The usage by day and member, or by day and model, for a range of days including both ends. */
export function exportUsage(from: string, to: string, by: 'member' | 'model'): Promise<Blob> {
  return blob(
    take(signed.GET('/v1/contract/usage/csv', { params: { query: { from, to, by } }, parseAs: 'blob' })),
  )
}

/** All members. */
export function exportMembers(): Promise<Blob> {
  return blob(take(signed.GET('/v1/user/csv', { parseAs: 'blob' })))
}

/** The entries of the audit log that match the query. */
export function exportAudit(query: AuditQuery): Promise<Blob> {
  return blob(take(signed.GET('/v1/audit/csv', { params: { query }, parseAs: 'blob' })))
}

/** The ratings that match the query. */
export function exportFeedback(query: FeedbackQuery): Promise<Blob> {
  return blob(take(signed.GET('/v1/organization/feedback/csv', { params: { query }, parseAs: 'blob' })))
}
