import { sourcesQuery } from '@/entities/source/dataSources'
import { queryClient } from '@/lib/api/queries'

/** sourcesLoader starts loading the data sources without waiting for them. */
export function sourcesLoader(): null {
  void queryClient.prefetchInfiniteQuery({ ...sourcesQuery, staleTime: 0 })
  return null
}
