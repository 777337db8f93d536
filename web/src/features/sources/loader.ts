import { sourcesQuery } from '@/entities/source/dataSources'
import { queryClient } from '@/lib/api/queries'

/** Starts reading the data sources; the page need not wait for them. */
export function sourcesLoader(): null {
  void queryClient.prefetchInfiniteQuery({ ...sourcesQuery, staleTime: 0 })
  return null
}
