import { queryOptions } from '@tanstack/react-query'
import { call, type Page, unlessGone } from '@/lib/api'
import { reload } from '@/lib/api/queries'

/** The key prefix of the share queries in the query cache. */
const SHARES = ['shares'] as const

/**
 * shareOfQuery reads the share of one of the user's threads, or null. Never cached, because another device may end it.
 */
export function shareOfQuery(threadId: string) {
  return queryOptions({
    queryKey: [...SHARES, 'thread', threadId],
    queryFn: async ({ signal }) => {
      const { items } = await call('listShares', { thread_id: threadId, limit: 1, signal })
      return items[0] ?? null
    },
    staleTime: 0,
  })
}

/** A page of the user's own shares. */
export function ownSharesQuery(page: Page) {
  return queryOptions({
    queryKey: [...SHARES, 'own', page],
    queryFn: ({ signal }) => call('listShares', { ...page, signal }),
    staleTime: 0,
  })
}

/** Shares a thread up to a message with the organization, or updates its share. */
export async function shareThread(threadId: string, leaf: string): Promise<void> {
  await call('shareThread', { thread_id: threadId, body: { leaf } })
  await reload(SHARES)
}

/** endShare ends a share. It succeeds if the share has already ended. */
export async function endShare(shareId: string): Promise<void> {
  await unlessGone(call('endShare', { share_id: shareId }))
  await reload(SHARES)
}

/** The address of a share's page. */
export function shareUrl(shareId: string): string {
  return `${window.location.origin}/share/${shareId}`
}
