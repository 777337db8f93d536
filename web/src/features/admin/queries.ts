import { queryOptions } from '@tanstack/react-query'
import { ApiError, type ManagedNotice, type Page, type SamlConfig, type SlackConfig } from '@/lib/api'
import * as admin from '@/lib/api/admin'
import { listOrganizationConnections } from '@/lib/api/connections'
import { countFeedback, type FeedbackQuery, getFeedback, listFeedback } from '@/lib/api/feedback'
import { getOrganizationModels, listModelUsage } from '@/lib/api/models'
import { getNotice, listNotices } from '@/lib/api/notices'
import { queryClient, reload } from '@/lib/api/queries'
import { previewRetention } from '@/lib/api/retention'
import { listOrganizationShares } from '@/lib/api/shares'
import { getSlackConfig, getSlackManifest, listSlackLinks } from '@/lib/api/slack'

/** The number of lines on a page of a list. */
export const PAGE = 20

// A user who is no longer an administrator gets an error page instead of a list that failed to load.
const throwOnError = (error: Error) => error instanceof ApiError && error.status === 403

/** The contract and its usage. */
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

/** sharedDocumentsQuery reads the skills that use files of a member. */
export function sharedDocumentsQuery(userId: string) {
  return queryOptions({
    queryKey: ['admin', 'shared-documents', userId],
    queryFn: ({ signal }) => admin.listSharedDocuments(userId, signal),
    staleTime: 0,
    throwOnError,
  })
}

export const samlQuery = queryOptions({
  queryKey: ['admin', 'saml'],
  queryFn: ({ signal }) => admin.getSamlConfig(signal),
  throwOnError,
})

/** retentionPreviewQuery counts the threads that a retention of `days` would delete now. */
export function retentionPreviewQuery(days: number) {
  return queryOptions({
    queryKey: ['admin', 'retention-preview', days],
    queryFn: ({ signal }) => previewRetention(days, signal),
    staleTime: 0,
    throwOnError,
  })
}

/** The monthly token limit of each member. */
export const memberLimitQuery = queryOptions({
  queryKey: ['admin', 'member-limit'],
  // The data of a query cannot be undefined.
  queryFn: async ({ signal }) => ({ tokens: await admin.getMemberLimit(signal) }),
  throwOnError,
})

/** The maximum durations of the organization's sessions. */
export const sessionLimitsQuery = queryOptions({
  queryKey: ['admin', 'session-limits'],
  queryFn: ({ signal }) => admin.getSessionLimits(signal),
  throwOnError,
})

/** samlTestQuery reads the result of a test of single sign-on. It polls until the test has ended. */
export function samlTestQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'saml-test', id],
    queryFn: ({ signal }) => admin.getSamlTest(id, signal),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 3000 : false),
    throwOnError,
  })
}

/** auditQuery reads a page of the audit log. Never cached, because every action here adds to it. */
export function auditQuery(query: admin.AuditQuery, page: number) {
  return queryOptions({
    queryKey: ['admin', 'audit', query, page],
    queryFn: ({ signal }) => admin.listAuditEvents({ ...query, ...pageOf(page) }, signal),
    staleTime: 0,
    throwOnError,
  })
}

/** The browser extension as distributed by this installation. */
export const extensionQuery = queryOptions({
  queryKey: ['admin', 'extension'],
  queryFn: ({ signal }) => admin.getExtension(signal),
  retry: false, // 404 if the server was built without it.
})

/** A page of the members' shares. */
export function sharesQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'shares', page],
    queryFn: ({ signal }) => listOrganizationShares(pageOf(page), signal),
    staleTime: 0,
    throwOnError,
  })
}

/** connectionsQuery reads a page of the connections to the members' accounts. */
export function connectionsQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'connections', page],
    queryFn: ({ signal }) => listOrganizationConnections(pageOf(page), signal),
    staleTime: 0,
    throwOnError,
  })
}

/** noticesQuery reads a page of the notices to the members. It reloads when one of them begins or ends. */
export function noticesQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'notices', page],
    queryFn: ({ signal }) => listNotices(pageOf(page), signal),
    refetchInterval: ({ state }) => untilChange(state.data?.items ?? []),
    staleTime: 0,
    throwOnError,
  })
}

// untilChange returns at most an hour, because timers overflow after some weeks.
function untilChange(notices: readonly ManagedNotice[], now = Date.now()): number | false {
  const times = notices
    .flatMap(({ published_at, ends_at }) => [published_at, ends_at ?? ''])
    .map((at) => Date.parse(at) - now)
    .filter((pause) => pause > 0)
  return times.length > 0 && Math.min(...times, 3_600_000) + 500
}

/**
 * noticeQuery reads a notice to the members. It loads once each time the notice is opened, so that a form does not
 * change during editing.
 */
export function noticeQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'notice', id],
    queryFn: ({ signal }) => getNotice(id, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    throwOnError,
  })
}

/** modelUsageQuery reads the usage by model of a month, or of the last 30 days if `month` is ''. */
export function modelUsageQuery(month: string) {
  return queryOptions({
    queryKey: ['admin', 'model-usage', month],
    queryFn: ({ signal }) => listModelUsage(month, signal),
    throwOnError,
  })
}

/** The models of the server with the organization's settings. They are edited, so they are not reloaded. */
export const modelsQuery = queryOptions({
  queryKey: ['admin', 'models'],
  queryFn: ({ signal }) => getOrganizationModels(signal),
  gcTime: 0,
  staleTime: Number.POSITIVE_INFINITY,
  throwOnError,
})

/** A page of the ratings. */
export function feedbackQuery(query: FeedbackQuery, page: number) {
  return queryOptions({
    queryKey: ['admin', 'feedback', query, page],
    queryFn: ({ signal }) => listFeedback({ ...query, ...pageOf(page) }, signal),
    staleTime: 0,
    throwOnError,
  })
}

/** The ratings of each skill in a period. */
export function skillFeedbackQuery(period: Pick<FeedbackQuery, 'from' | 'to'>) {
  return queryOptions({
    queryKey: ['admin', 'feedback', 'skills', period],
    queryFn: ({ signal }) => countFeedback(period, signal),
    staleTime: 0,
    throwOnError,
  })
}

/**
 * feedbackTextQuery reads a rating with its question and answer. It is not cached, because the user may withdraw it.
 */
export function feedbackTextQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'feedback', 'one', id],
    queryFn: ({ signal }) => getFeedback(id, signal),
    gcTime: 0,
    throwOnError,
  })
}

/** The organization's Slack settings. */
export const slackQuery = queryOptions({
  queryKey: ['admin', 'slack'],
  queryFn: ({ signal }) => getSlackConfig(signal),
  throwOnError,
})

/** The manifest of a Slack app for this server. */
export function slackManifestQuery(socket: boolean) {
  return queryOptions({
    queryKey: ['admin', 'slack-manifest', socket],
    queryFn: ({ signal }) => getSlackManifest(socket, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** A page of the members who are linked with Slack. */
export function slackLinksQuery(page: number) {
  return queryOptions({
    queryKey: ['admin', 'slack-links', page],
    queryFn: ({ signal }) => listSlackLinks(pageOf(page), signal),
    staleTime: 0,
    throwOnError,
  })
}

function pageOf(page: number): Page {
  return { offset: (page - 1) * PAGE, limit: PAGE }
}

/** Reloads the data that a change of the members has made stale. */
export async function refreshMembers(): Promise<void> {
  await Promise.all([
    reload(['admin', 'members']),
    reload(['admin', 'usage']),
    reload(contractQuery.queryKey),
  ])
}

/** storeSaml stores the changed single sign-on settings. It cancels pending requests, whose responses may be older. */
export async function storeSaml(config: SamlConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: samlQuery.queryKey })
  queryClient.setQueryData(samlQuery.queryKey, config)
}

/** Stores the changed settings of Slack. */
export async function storeSlack(config: SlackConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: slackQuery.queryKey })
  queryClient.setQueryData(slackQuery.queryKey, config)
}
