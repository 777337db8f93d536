import type { Page } from './client'
import { signed, take } from './http'
import type { LeavingThread, Retention, RetentionPreview } from './types'

/**
 * The number of days that the organization keeps threads, and the number of the user's threads that will be deleted.
 */
export async function getRetention(signal?: AbortSignal): Promise<Retention> {
  return take(signed.GET('/v1/retention', { signal: signal ?? null }))
}

/** Sets the number of days after which threads are deleted, for administrators; undefined for never. */
export async function putRetention(days: number | undefined): Promise<Retention> {
  return take(signed.PUT('/v1/retention', { body: days === undefined ? {} : { days } }))
}

/** The number of threads that a retention of `days` would delete now, for administrators. */
export async function previewRetention(days: number, signal?: AbortSignal): Promise<RetentionPreview> {
  return take(signed.GET('/v1/retention/preview', { params: { query: { days } }, signal: signal ?? null }))
}

/** A page of the user's threads that will be deleted, in the order of their deletion. */
export async function listLeavingThreads(page: Page, signal?: AbortSignal): Promise<LeavingThread[]> {
  const list = await take(
    signed.GET('/v1/retention/thread', { params: { query: page }, signal: signal ?? null }),
  )
  return list.items
}
