import type { Counted } from './admin'
import type { Page } from './client'
import { signed, take } from './http'
import type { ManagedNotice, NoticeDraft } from './types'

/** The notices for the organization's administrators, last published first. */
export async function listNotices(page: Page, signal?: AbortSignal): Promise<Counted<ManagedNotice>> {
  return take(
    signed.GET('/v1/organization/notification', { params: { query: page }, signal: signal ?? null }),
  )
}

const path = (id: string) => ({ params: { path: { notification_id: id } } })

/** A notice for the organization's administrators. */
export async function getNotice(id: string, signal?: AbortSignal): Promise<ManagedNotice> {
  return take(signed.GET('/v1/notification/{notification_id}', { ...path(id), signal: signal ?? null }))
}

/** Adds a notice. A retry with the same request id adds none. */
export async function addNotice(draft: NoticeDraft, requestId: string): Promise<ManagedNotice> {
  return take(signed.POST('/v1/notification', { body: { ...draft, request_id: requestId } }))
}

/** Changes a notice that has not ended. */
export async function editNotice(id: string, draft: NoticeDraft): Promise<ManagedNotice> {
  return take(signed.PUT('/v1/notification/{notification_id}', { ...path(id), body: draft }))
}

/** Ends a published notice. */
export async function endNotice(id: string): Promise<ManagedNotice> {
  return take(signed.POST('/v1/notification/{notification_id}/end', path(id)))
}

/** Deletes a notice that was never published. */
export async function deleteNotice(id: string): Promise<void> {
  await take(signed.DELETE('/v1/notification/{notification_id}', path(id)))
}
