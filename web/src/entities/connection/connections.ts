import { queryOptions } from '@tanstack/react-query'
import { call, unlessGone } from '@/lib/api'
import { reload } from '@/lib/api/queries'

/** The key prefix of the connection queries in the query cache. */
const CONNECTIONS = ['connections'] as const

/** The user's own connections. Never cached, because other programs use and end them. */
export const ownConnectionsQuery = queryOptions({
  queryKey: [...CONNECTIONS, 'own'],
  queryFn: async ({ signal }) => (await call('listConnections', { signal })).items,
  staleTime: 0,
})

/** Whether members of the organization may connect programs. */
export const connectionPolicyQuery = queryOptions({
  queryKey: [...CONNECTIONS, 'policy'],
  queryFn: ({ signal }) => call('getConnectionPolicy', { signal }),
  staleTime: 0,
})

/**
 * endConnection ends a connection of the user or, for administrators, of a member. It succeeds if the connection has
 * already ended.
 */
export async function endConnection(id: string, ofMember = false): Promise<void> {
  await unlessGone(call(ofMember ? 'endOrganizationConnection' : 'endConnection', { connection_id: id }))
  await reload(CONNECTIONS)
}
