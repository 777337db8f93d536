import type { LoaderFunctionArgs } from 'react-router'
import { call, type Share } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { preloadMarkdown } from '@/lib/markdown'

/** The number of messages on a page. */
const PAGE = 100

/** sharedMessagesQuery returns the query for the messages of a share, oldest first. */
export function sharedMessagesQuery(shareId: string) {
  return {
    queryKey: ['share', shareId, 'messages'],
    queryFn: async ({ pageParam, signal }: { pageParam: number; signal: AbortSignal }) =>
      (await call('listSharedMessages', { share_id: shareId, offset: pageParam, limit: PAGE, signal })).items,
    initialPageParam: 0,
    getNextPageParam: (last: readonly unknown[], pages: readonly unknown[]) =>
      last.length < PAGE ? undefined : pages.length * PAGE,
    // The share may have been updated or ended.
    staleTime: 0,
    gcTime: 0,
  }
}

/** shareLoader loads a share and its first messages. */
export async function shareLoader({ params, request }: LoaderFunctionArgs): Promise<Share> {
  const shareId = params.shareId as string
  const [share] = await Promise.all([
    call('getShare', { share_id: shareId, signal: request.signal }),
    queryClient.fetchInfiniteQuery(sharedMessagesQuery(shareId)),
    preloadMarkdown().catch(() => {}),
  ])
  return share
}
