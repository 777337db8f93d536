import type { LoaderFunctionArgs } from 'react-router'
import { threadsQuery } from '@/entities/thread/threads'
import { queryClient } from '@/lib/api/queries'

/** Starts reading the threads; the page need not wait for them. */
export function threadsLoader(_: LoaderFunctionArgs): null {
  // Nothing told of changes while /home was left.
  void queryClient.prefetchInfiniteQuery({ ...threadsQuery, staleTime: 0 })
  return null
}
