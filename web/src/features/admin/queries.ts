import { queryOptions } from '@tanstack/react-query'
import { ApiError, type Page, type SamlConfig } from '@/lib/api'
import * as admin from '@/lib/api/admin'
import { queryClient, readAnew } from '@/lib/api/queries'
import { listOrganizationShares } from '@/lib/api/shares'

/** How many lines a page of a list has. */
export const PAGE = 20

// Who is no administrator any more gets the page that says so, and not a list that could not be loaded.
const throwOnError = (error: Error) => error instanceof ApiError && error.status === 403

/** The contract and what is used of it. */
export const contractQuery = queryOptions({
  queryKey: ['admin', 'contract'],
  queryFn: ({ signal }) => admin.getContract(signal),
  throwOnError,
})

/** A page of the usage by member; pages count from 1. */
export function memberUsageQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'usage', page],
    queryFn: ({ signal }) => admin.listMemberUsage(pageOf(page), signal),
    throwOnError,
  })
}

/** A page of the members. */
export function membersQuery(query: admin.MemberQuery, page: number) {
  return queryOptions({
    queryKey: ['admin', 'members', query, page],
    queryFn: ({ signal }) => admin.listMembers({ ...query, ...pageOf(page) }, signal),
    throwOnError,
  })
}

/** The single sign-on of the organization. */
export const samlQuery = queryOptions({
  queryKey: ['admin', 'saml'],
  queryFn: ({ signal }) => admin.getSamlConfig(signal),
  throwOnError,
})

/** How long sessions of the organization last. */
export const sessionLimitsQuery = queryOptions({
  queryKey: ['admin', 'session-limits'],
  queryFn: ({ signal }) => admin.getSessionLimits(signal),
  throwOnError,
})

/** What came of a trial of single sign-on; asked again until it has ended. */
export function samlTestQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'saml-test', id],
    queryFn: ({ signal }) => admin.getSamlTest(id, signal),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 3000 : false),
    throwOnError,
  })
}

/** A page of the audit log. It grows with whatever is done here: never taken from memory. */
export function auditQuery(query: admin.AuditQuery, page: number) {
  return queryOptions({
    queryKey: ['admin', 'audit', query, page],
    queryFn: ({ signal }) => admin.listAuditEvents({ ...query, ...pageOf(page) }, signal),
    staleTime: 0,
    throwOnError,
  })
}

/** A page of what members share. */
export function sharesQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'shares', page],
    queryFn: ({ signal }) => listOrganizationShares(pageOf(page), signal),
    staleTime: 0,
    throwOnError,
  })
}

function pageOf(page: number): Page {
  return { offset: (page - 1) * PAGE, limit: PAGE }
}

/** Reads anew what a change of the members has made old. */
export async function refreshMembers(): Promise<void> {
  await Promise.all([
    readAnew(['admin', 'members']),
    readAnew(['admin', 'usage']),
    readAnew(contractQuery.queryKey),
  ])
}

/** Takes in the single sign-on as a change has left it; one that is being read may be from before. */
export async function storeSaml(config: SamlConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: samlQuery.queryKey })
  queryClient.setQueryData(samlQuery.queryKey, config)
}
