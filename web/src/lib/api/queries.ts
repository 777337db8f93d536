import { QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import { ApiError, call, listAll } from './'

/** The cache of server state. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      // Retry only errors that may be temporary.
      retry: (count, error) =>
        count < 2 && (!(error instanceof ApiError) || error.offline || error.status >= 500),
      retryDelay: (count) => 300 * 2 ** count,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

type Change<T> = (data: T) => T

/** The changes to a query's data during a request for it. */
const meanwhile = new Map<string, Change<unknown>[]>()

/**
 * changeData changes cached data because of an event or a user action. A pending response may be older, so the change
 * is applied to it as well, and `change` must be idempotent. Data that is not cached is not changed.
 */
export function changeData<T>(queryKey: QueryKey, change: Change<T>): void {
  const query = queryClient.getQueryCache().find<T>({ queryKey })
  if (query === undefined) return
  const { data, dataUpdatedAt, fetchStatus, isInvalidated } = query.state
  if (fetchStatus !== 'idle') {
    const before = meanwhile.get(query.queryHash) ?? []
    meanwhile.set(query.queryHash, [...before, change as Change<unknown>])
  }
  if (data === undefined) return
  queryClient.setQueryData<T>(queryKey, change(data), { updatedAt: dataUpdatedAt })
  // Data that was stale stays stale.
  if (isInvalidated) query.invalidate()
}

queryClient.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated') return
  const { query, action } = event
  const answered = action.type === 'success' && !action.manual
  if (action.type !== 'fetch' && !answered) return
  const changes = meanwhile.get(query.queryHash) ?? []
  meanwhile.delete(query.queryHash)
  if (answered) for (const change of changes) changeData(query.queryKey, change)
})

/** reload reloads with a new request, because a pending response may be from before the change. */
export async function reload(queryKey: QueryKey): Promise<void> {
  await queryClient.cancelQueries({ queryKey })
  await queryClient.invalidateQueries({ queryKey })
}

/** The signed-in user. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => call('me', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

/** The signed-in user's usage in this month. Never cached, because each answer adds to it. */
export const ownUsageQuery = queryOptions({
  queryKey: ['me', 'usage'],
  queryFn: ({ signal }) => call('myUsage', { signal }),
  staleTime: 0,
})

/** Brand and external links. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: () => call('appConfig'),
  staleTime: Number.POSITIVE_INFINITY,
})

/** All skills, by category and position. */
export const skillsQuery = queryOptions({
  queryKey: ['skills'],
  queryFn: ({ signal }) => listAll((page) => call('listSkills', { ...page, signal })),
})

/** One skill. */
export function skillQuery(skillId: string) {
  return queryOptions({
    queryKey: ['skill', skillId],
    queryFn: ({ signal }) => call('getSkill', { skill_id: skillId, signal }),
    gcTime: Number.POSITIVE_INFINITY,
  })
}

/** All categories, by position. */
export const categoriesQuery = queryOptions({
  queryKey: ['categories'],
  queryFn: ({ signal }) => listAll((page) => call('listCategories', { ...page, signal })),
})

/** The newest notices. */
export const notificationsQuery = queryOptions({
  queryKey: ['notifications'],
  queryFn: async ({ signal }) => (await call('listNotifications', { offset: 0, limit: 50, signal })).items,
  refetchInterval: 5 * 60_000,
})
