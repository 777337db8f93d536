import { QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import { ApiError, api } from './'

/** The cache of what the server told. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      // Only what may go better the second time is tried again.
      retry: (count, error) =>
        count < 2 && (!(error instanceof ApiError) || error.offline || error.status >= 500),
      retryDelay: (count) => 300 * 2 ** count,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

/** Reads anew, with an answer that is asked for from now on: one that is on its way may be from before what has happened. */
export async function readAnew(queryKey: QueryKey): Promise<void> {
  await queryClient.cancelQueries({ queryKey })
  await queryClient.invalidateQueries({ queryKey })
}

/** Something has just happened that an answer on its way may not know of: it is asked for once more. */
export async function outdate(queryKey: QueryKey): Promise<void> {
  if (queryClient.isFetching({ queryKey }) > 0) await readAnew(queryKey)
}

/** The signed-in user. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api.me(signal),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Brand and external links. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: () => api.appConfig(),
  staleTime: Number.POSITIVE_INFINITY,
})

/** All skills, by category and position. */
export const skillsQuery = queryOptions({
  queryKey: ['skills'],
  queryFn: ({ signal }) => api.listAll((page) => api.listSkills(page, signal)),
})

/** One skill. */
export function skillQuery(skillId: string) {
  return queryOptions({
    queryKey: ['skill', skillId],
    queryFn: ({ signal }) => api.getSkill(skillId, signal),
  })
}

/** All categories, by position. */
export const categoriesQuery = queryOptions({
  queryKey: ['categories'],
  queryFn: ({ signal }) => api.listAll((page) => api.listCategories(page, signal)),
})

/** The newest notices. */
export const notificationsQuery = queryOptions({
  queryKey: ['notifications'],
  queryFn: ({ signal }) => api.listNotifications({ offset: 0, limit: 50 }, signal),
  refetchInterval: 5 * 60_000,
})
