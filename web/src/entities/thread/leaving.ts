import { queryOptions } from '@tanstack/react-query'
import { call } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { LEAVING, upsertThread } from './threads'

/** LEAVING_PAGE is the number of threads to load: the API's maximum. */
const LEAVING_PAGE = 100

/** How long the organization keeps threads, and how many of the user's own will be deleted. */
export const retentionQuery = queryOptions({
  queryKey: [...LEAVING, 'count'],
  queryFn: ({ signal }) => call('getRetention', { signal }),
})

/** The user's threads that will be deleted first. */
export const leavingQuery = queryOptions({
  queryKey: [...LEAVING, 'threads'],
  queryFn: async ({ signal }) =>
    (await call('listLeavingThreads', { offset: 0, limit: LEAVING_PAGE, signal })).items,
  staleTime: 0,
})

/** keepThreads marks threads as used now, which delays their deletion. It returns the number of failures. */
export async function keepThreads(ids: readonly string[]): Promise<number> {
  const results = await Promise.allSettled(ids.map((id) => call('touchThread', { thread_id: id })))
  for (const result of results) if (result.status === 'fulfilled') upsertThread(result.value)
  await reload(LEAVING)
  return results.filter(({ status }) => status === 'rejected').length
}
