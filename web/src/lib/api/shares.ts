import type { Page } from './client'
import { signed, take } from './http'
import type { Share, SharedMessage, Thread } from './types'

/** A page of shares, and their total number. */
export interface ShareList {
  readonly items: Share[]
  readonly total: number
}

/** Shares a thread up to a message with the organization, or updates an existing share. */
export async function shareThread(threadId: string, leaf: string): Promise<Share> {
  const params = { path: { thread_id: threadId } }
  return take(signed.PUT('/v1/thread/{thread_id}/share', { params, body: { leaf } }))
}

/** The share of one of the user's threads, or null. */
export async function findShare(threadId: string, signal?: AbortSignal): Promise<Share | null> {
  const params = { query: { thread_id: threadId, limit: 1 } }
  const { items } = await take(signed.GET('/v1/share', { params, signal: signal ?? null }))
  return items[0] ?? null
}

/** The user's own shares, last updated first. */
export async function listShares(page: Page, signal?: AbortSignal): Promise<ShareList> {
  return take(signed.GET('/v1/share', { params: { query: page }, signal: signal ?? null }))
}

/** The organization's shares, last updated first. For its administrators. */
export async function listOrganizationShares(page: Page, signal?: AbortSignal): Promise<ShareList> {
  return take(signed.GET('/v1/organization/share', { params: { query: page }, signal: signal ?? null }))
}

/** A share of the organization. */
export async function getShare(shareId: string, signal?: AbortSignal): Promise<Share> {
  return take(
    signed.GET('/v1/share/{share_id}', { params: { path: { share_id: shareId } }, signal: signal ?? null }),
  )
}

/** The messages of a share, oldest first. */
export async function listSharedMessages(
  shareId: string,
  page: Page,
  signal?: AbortSignal,
): Promise<SharedMessage[]> {
  const params = { path: { share_id: shareId }, query: page }
  return (await take(signed.GET('/v1/share/{share_id}/message', { params, signal: signal ?? null }))).items
}

/** Ends a share. */
export async function endShare(shareId: string): Promise<void> {
  await take(signed.DELETE('/v1/share/{share_id}', { params: { path: { share_id: shareId } } }))
}

/** Copies a share into a new thread of the user. A retry with the same request id returns the same thread. */
export async function copyShare(shareId: string, requestId: string): Promise<Thread> {
  const params = { path: { share_id: shareId } }
  return take(signed.POST('/v1/share/{share_id}/thread', { params, body: { request_id: requestId } }))
}
