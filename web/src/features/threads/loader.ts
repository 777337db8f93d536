import type { LoaderFunctionArgs } from 'react-router'
import { threadsQuery } from '@/entities/thread/threads'
import { queryClient } from '@/lib/api/queries'

/** Starts loading the threads; the page does not wait for them. */
export function threadsLoader(_: LoaderFunctionArgs): null {
  // The app received no events while no page for signed-in users was open.
  void queryClient.prefetchInfiniteQuery({ ...threadsQuery, staleTime: 0 })
  return null
}
