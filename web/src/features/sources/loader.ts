import { followSources, sourcesQuery } from '@/entities/source/dataSources'
import { queryClient } from '@/lib/api/queries'
import { live } from '@/lib/live'
import { askBeforeLeaving, uploads } from './uploads'

let begun = false

/** Starts reading the data sources; the page need not wait for them. From the first visit on they are kept as they change. */
export function sourcesLoader(): null {
  if (!begun) {
    begun = true
    followSources(live)
    askBeforeLeaving(uploads, window)
  }
  void queryClient.prefetchInfiniteQuery({ ...sourcesQuery, staleTime: 0 })
  return null
}
