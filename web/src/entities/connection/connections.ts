import { queryOptions } from '@tanstack/react-query'
import { ApiError } from '@/lib/api'
import * as connections from '@/lib/api/connections'
import { readAnew } from '@/lib/api/queries'

/** How all queries for the user's connections begin in the query cache. */
const CONNECTIONS = ['connections'] as const

/** The user's own connections. They are used and ended elsewhere: never taken from memory. */
export const ownConnectionsQuery = queryOptions({
  queryKey: [...CONNECTIONS, 'own'],
  queryFn: ({ signal }) => connections.listConnections(signal),
  staleTime: 0,
})

/** What members of the organization may connect. */
export const connectionPolicyQuery = queryOptions({
  queryKey: [...CONNECTIONS, 'policy'],
  queryFn: ({ signal }) => connections.getConnectionPolicy(signal),
  staleTime: 0,
})

/**
 * Ends a connection, the user's own or, for administrators, a member's. One that has ended already is as it was wanted.
 */
export async function endConnection(id: string, ofMember = false): Promise<void> {
  try {
    await (ofMember ? connections.endOrganizationConnection(id) : connections.endConnection(id))
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 404)) throw cause
  }
  await readAnew(CONNECTIONS)
}
