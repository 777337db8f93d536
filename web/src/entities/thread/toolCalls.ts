import { queryOptions } from '@tanstack/react-query'
import { call } from '@/lib/api'
import { WAITING_CALLS } from './threads'

/** The calls of tools that wait for the user's decision, oldest first. Live events make it load again. */
export const waitingCallsQuery = queryOptions({
  queryKey: WAITING_CALLS,
  queryFn: async ({ signal }) =>
    (await call('listToolCalls', { state: 'waiting', offset: 0, limit: 100, signal })).items,
})
