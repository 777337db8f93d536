import { queryOptions } from '@tanstack/react-query'
import type { Choosable } from '@/components/Chooser'
import {
  ApiError,
  type Arguments,
  call,
  listAll,
  type ManagedNotice,
  type OidcConfig,
  type Operation,
  type Page,
  type SamlConfig,
  type SlackConfig,
  type ToolServer,
} from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { queryClient, reload } from '@/lib/api/queries'

/** The number of lines on a page of a list. */
export const PAGE = 20

/** The filters of the lists. Omitted fields match everything. */
export type MemberQuery = Omit<Arguments<'listUsers'>, keyof Page>
export type AuditQuery = Omit<Arguments<'listAuditEvents'>, keyof Page>
export type FeedbackQuery = Omit<Arguments<'listOrganizationFeedback'>, keyof Page>

/** read returns the query of an operation. Its key consists of the operation and its arguments. */
function read<O extends Operation>(operation: O, given: Arguments<O>) {
  return queryOptions({
    queryKey: ['admin', operation, given],
    queryFn: ({ signal }) => call(operation, { ...given, signal }),
    throwOnError: isForbidden,
  })
}

// A user who is no longer an administrator gets an error page instead of a list that failed to load.
function isForbidden(error: Error): boolean {
  return error instanceof ApiError && error.status === 403
}

/** readNow is like read, and loads again whenever the data is shown. */
function readNow<O extends Operation>(operation: O, given: Arguments<O>) {
  return { ...read(operation, given), staleTime: 0 }
}

/** The contract and its usage. */
export const contractQuery = read('getContract', {})

/** A page of the usage by member; pages count from 1. */
export const memberUsageQuery = (page: number) => read('listMemberUsage', pageOf(page))

/** A page of the members. */
export const membersQuery = (query: MemberQuery, page: number) =>
  read('listUsers', { ...query, ...pageOf(page) })

/** A page of the groups whose name contains a text. */
export const groupsQuery = (q: string, page: number) =>
  readNow('listGroups', { ...(q && { q }), ...pageOf(page) })

/** A group. */
export const groupQuery = (id: string) => readNow('getGroup', { group_id: id })

/** Reloads what a change of a group or of its members has made stale. */
export async function refreshGroups(): Promise<void> {
  await Promise.all([reload(['admin', 'listGroups']), reload(['admin', 'getGroup']), refreshMembers()])
}

/** A page of the projects. */
export const projectsQuery = (query: Omit<Arguments<'listAllProjects'>, keyof Page>, page: number) =>
  readNow('listAllProjects', { ...query, ...pageOf(page) })

/** Reloads the list of projects. */
export async function refreshProjects(): Promise<void> {
  await reload(['admin', 'listAllProjects'])
}

/** peopleQuery searches members by name or address. */
export const peopleQuery = (q: string) =>
  listQuery<Choosable>(['admin', 'people', q], PAGE, (page, signal) =>
    call('listUsers', { q, ...page, signal }),
  )

/** removalQuery reads the consequences of removing a member. */
export const removalQuery = (userId: string) => readNow('previewRemoval', { user_id: userId })

/** The organization's single sign-on. */
export const samlQuery = read('getSAMLConfig', {})

/** The organization's single sign-on by OpenID Connect. */
export const oidcQuery = read('getOIDCConfig', {})

/** The address and the tokens for provisioning. */
export const scimQuery = readNow('getSCIMConfig', {})

/** scimCallsQuery reads the last calls of the identity provider, or only the refused ones. It polls for new ones. */
export const scimCallsQuery = (refused: boolean) =>
  queryOptions({
    ...readNow('listSCIMCalls', { refused }),
    select: ({ items }) => items,
    refetchInterval: 10_000,
  })

/** retentionPreviewQuery counts the threads that a retention of `days` would delete now. */
export const retentionPreviewQuery = (days: number) => readNow('previewRetention', { days })

/** The monthly token limit of each member. */
export const memberLimitQuery = read('getMemberLimit', {})

/** The maximum durations of the organization's sessions. */
export const sessionLimitsQuery = read('getSessionLimits', {})

/** The members who need a second factor. */
export const factorPolicyQuery = read('getFactorPolicy', {})

/** The networks that members may connect from. */
export const addressRangesQuery = read('getAddressRanges', {})

/** samlTestQuery reads the result of a test of single sign-on. It polls until the test has ended. */
export const samlTestQuery = (id: string) =>
  queryOptions({
    ...read('getSAMLTest', { test_id: id }),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 3000 : false),
  })

/** auditQuery reads a page of the audit log. Never cached, because every action here adds to it. */
export const auditQuery = (query: AuditQuery, page: number) =>
  readNow('listAuditEvents', { ...query, ...pageOf(page) })

/** The browser extension as distributed by this installation; 404 if the server was built without it. */
export const extensionQuery = { ...read('getExtension', {}), retry: false }

/** A page of the members' shares. */
export const sharesQuery = (page: number) => readNow('listOrganizationShares', pageOf(page))

/** connectionsQuery reads a page of the connections to the members' accounts. */
export const connectionsQuery = (page: number) => readNow('listOrganizationConnections', pageOf(page))

/** noticesQuery reads a page of the notices to the members. It reloads when one of them begins or ends. */
export const noticesQuery = (page: number) =>
  queryOptions({
    ...readNow('listOrganizationNotifications', pageOf(page)),
    refetchInterval: ({ state }) => untilChange(state.data?.items ?? []),
  })

// untilChange returns at most an hour, because timers overflow after some weeks.
function untilChange(notices: readonly ManagedNotice[], now = Date.now()): number | false {
  const times = notices
    .flatMap(({ published_at, ends_at }) => [published_at, ends_at ?? ''])
    .map((at) => Date.parse(at) - now)
    .filter((pause) => pause > 0)
  return times.length > 0 && Math.min(...times, 3_600_000) + 500
}

/** Data that is edited is loaded once each time it is opened, so that a form does not change during editing. */
const edited = { gcTime: 0, staleTime: Number.POSITIVE_INFINITY }

/** A notice to the members. */
export const noticeQuery = (id: string) => ({
  ...read('getNotification', { notification_id: id }),
  ...edited,
})

/** modelUsageQuery reads the usage by model of a month, or of the last 30 days if `month` is ''. */
export const modelUsageQuery = (month: string) =>
  queryOptions({
    queryKey: ['admin', 'listModelUsage', month],
    queryFn: ({ signal }) =>
      listAll((page) => call('listModelUsage', { ...page, ...(month && { month }), signal })),
    throwOnError: isForbidden,
  })

/** toolUsageQuery reads the usage by tool of a month, or of the last 30 days if `month` is ''. */
export const toolUsageQuery = (month: string) =>
  queryOptions({
    queryKey: ['admin', 'listToolUsage', month],
    queryFn: ({ signal }) =>
      listAll((page) => call('listToolUsage', { ...page, ...(month && { month }), signal })),
    throwOnError: isForbidden,
  })

/** The models of the server with the organization's settings. */
export const modelsQuery = { ...read('getOrganizationModels', {}), ...edited }

/** A page of the ratings. */
export const feedbackQuery = (query: FeedbackQuery, page: number) =>
  readNow('listOrganizationFeedback', { ...query, ...pageOf(page) })

/** The ratings of each skill in a period, most first. */
export const skillFeedbackQuery = (period: Pick<FeedbackQuery, 'from' | 'to'>) =>
  queryOptions({ ...readNow('listSkillFeedback', period), select: ({ items }) => items })

/**
 * feedbackTextQuery reads a rating with its question and answer. It is not cached, because the user may withdraw it.
 */
export const feedbackTextQuery = (id: string) => ({
  ...read('getOrganizationFeedback', { message_id: id }),
  gcTime: 0,
})

/** The state of the services that the organization uses; 403 unless the user is a super-admin. */
export const stateQuery = readNow('getOrganizationState', {})

/** The organization's Slack settings. */
export const slackQuery = read('getSlackConfig', {})

/** The manifest of a Slack app for this server. */
export const slackManifestQuery = (socket: boolean) =>
  queryOptions({
    ...read('getSlackManifest', { socket }),
    select: ({ manifest }) => manifest,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** A page of the members who are linked with Slack. */
export const slackLinksQuery = (page: number) => readNow('listSlackLinks', pageOf(page))

/** The tool servers of the organization; 403 unless the user is a super-admin. */
export const toolServersQuery = queryOptions({
  ...readNow('listToolServers', {}),
  select: ({ items }) => items,
})

/** Stores a changed tool server in the list, and reloads the list. */
export async function storeToolServer(server: ToolServer): Promise<void> {
  await queryClient.cancelQueries({ queryKey: toolServersQuery.queryKey })
  queryClient.setQueryData(
    toolServersQuery.queryKey,
    (list) => list && { items: list.items.map((known) => (known.id === server.id ? server : known)) },
  )
  await reload(toolServersQuery.queryKey)
}

function pageOf(page: number): Page {
  return { offset: (page - 1) * PAGE, limit: PAGE }
}

/** Reloads the data that a change of the members has made stale. */
export async function refreshMembers(): Promise<void> {
  await Promise.all([
    reload(['admin', 'listUsers']),
    reload(['admin', 'listMemberUsage']),
    reload(contractQuery.queryKey),
  ])
}

/**
 * storeSaml stores the changed single sign-on settings. It cancels pending requests, whose responses may be older. The
 * other protocol may have been switched off.
 */
export async function storeSaml(config: SamlConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: samlQuery.queryKey })
  queryClient.setQueryData(samlQuery.queryKey, config)
  await reload(oidcQuery.queryKey)
}

/** storeOidc is storeSaml for OpenID Connect. */
export async function storeOidc(config: OidcConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: oidcQuery.queryKey })
  queryClient.setQueryData(oidcQuery.queryKey, config)
  await reload(samlQuery.queryKey)
}

/** Stores the changed settings of Slack. */
export async function storeSlack(config: SlackConfig): Promise<void> {
  await queryClient.cancelQueries({ queryKey: slackQuery.queryKey })
  queryClient.setQueryData(slackQuery.queryKey, config)
}
