import type { Page } from './client'
import { signed, take } from './http'
import type {
  AuditEvent,
  Contract,
  Extension,
  Invitation,
  Member,
  MemberFilter,
  MemberUsage,
  NewMember,
  Role,
  SamlConfig,
  SamlConfigPutRequest,
  SamlTest,
  SessionLimits,
  SharedDocuments,
  UserEditRequest,
} from './types'

/** A page of a list with its total length. */
export interface Counted<T> {
  items: T[]
  /** The total number. */
  total: number
}

/** The organization's contract and its usage. */
export async function getContract(signal?: AbortSignal): Promise<Contract> {
  return take(signed.GET('/v1/contract', { signal: signal ?? null }))
}

/** The browser extension as distributed by this installation. */
export async function getExtension(signal?: AbortSignal): Promise<Extension> {
  return take(signed.GET('/v1/extension', { signal: signal ?? null }))
}

/** Usage of the last 30 days by member, most tokens first. */
export async function listMemberUsage(page: Page, signal?: AbortSignal): Promise<Counted<MemberUsage>> {
  return take(signed.GET('/v1/contract/usage/member', { params: { query: page }, signal: signal ?? null }))
}

/** The filter of the member list. Omitted fields match everything. */
export interface MemberQuery {
  /** Part of a name or an address. */
  q?: string
  role?: Role
  state?: MemberFilter
}

/** The organization's members, by name. */
export async function listMembers(query: MemberQuery & Page, signal?: AbortSignal): Promise<Counted<Member>> {
  return take(signed.GET('/v1/user', { params: { query }, signal: signal ?? null }))
}

/**
 * Invites at most a hundred people, and returns the result for each, in order. A retry with the same key returns the
 * same results and sends nothing twice.
 */
export async function inviteMembers(users: NewMember[], key: string): Promise<Invitation[]> {
  const params = { header: { 'Idempotency-Key': key } }
  return (await take(signed.POST('/v1/user/invite', { params, body: { users } }))).items
}

/** Sends an invitation again; the earlier one becomes invalid. */
export async function resendInvitation(userId: string): Promise<void> {
  await take(signed.POST('/v1/user/invite/resend', { body: { user_id: userId } }))
}

/** Changes a member's name, role, state or limit. */
export async function editMember(userId: string, request: UserEditRequest): Promise<Member> {
  const params = { path: { user_id: userId } }
  return take(signed.PUT('/v1/user/{user_id}', { params, body: request }))
}

/** The organization's skills that use files of a member. They keep the files when the member is removed. */
export async function listSharedDocuments(userId: string, signal?: AbortSignal): Promise<SharedDocuments[]> {
  const params = { path: { user_id: userId } }
  return (await take(signed.GET('/v1/user/{user_id}/shared-document', { params, signal: signal ?? null })))
    .items
}

/** Removes a member with all of their data. */
export async function removeMember(userId: string): Promise<void> {
  await take(signed.DELETE('/v1/user/{user_id}', { params: { path: { user_id: userId } } }))
}

/** Ends all sessions of a member. */
export async function endMemberSessions(userId: string): Promise<void> {
  await take(signed.DELETE('/v1/user/{user_id}/session', { params: { path: { user_id: userId } } }))
}

/** The maximum durations of the organization's sessions. */
export async function getSessionLimits(signal?: AbortSignal): Promise<SessionLimits> {
  return take(signed.GET('/v1/session-limits', { signal: signal ?? null }))
}

/** Sets the maximum durations of the organization's sessions. */
export async function putSessionLimits(limits: SessionLimits): Promise<SessionLimits> {
  return take(signed.PUT('/v1/session-limits', { body: limits }))
}

/** The monthly token limit of each member; undefined for no limit. */
export async function getMemberLimit(signal?: AbortSignal): Promise<number | undefined> {
  return (await take(signed.GET('/v1/member-limit', { signal: signal ?? null }))).tokens
}

/** Sets the monthly token limit of each member; undefined for no limit. */
export async function putMemberLimit(tokens: number | undefined): Promise<number | undefined> {
  const body = tokens === undefined ? {} : { tokens }
  return (await take(signed.PUT('/v1/member-limit', { body }))).tokens
}

/** Removes a member's link to the identity provider, and ends their sessions. */
export async function unlinkMember(userId: string): Promise<void> {
  await take(signed.DELETE('/v1/user/{user_id}/sso-link', { params: { path: { user_id: userId } } }))
}

/** The organization's single sign-on. */
export async function getSamlConfig(signal?: AbortSignal): Promise<SamlConfig> {
  return take(signed.GET('/v1/saml-config', { signal: signal ?? null }))
}

/** Changes the organization's single sign-on settings; omitted fields keep their value. */
export async function putSamlConfig(request: SamlConfigPutRequest): Promise<SamlConfig> {
  return take(signed.PUT('/v1/saml-config', { body: request }))
}

/** Switches single sign-on on or off for the members. */
export async function switchSaml(on: boolean): Promise<SamlConfig> {
  return take(on ? signed.PUT('/v1/saml-config/on') : signed.PUT('/v1/saml-config/off'))
}

/** Begins a test of single sign-on; returns the URL for the browser. */
export async function startSamlTest(): Promise<{ id: string; url: string }> {
  return take(signed.POST('/v1/saml-config/test'))
}

/** The result of a test. */
export async function getSamlTest(testId: string, signal?: AbortSignal): Promise<SamlTest> {
  const params = { path: { test_id: testId } }
  return take(signed.GET('/v1/saml-config/test/{test_id}', { params, signal: signal ?? null }))
}

/** The filter of the audit log. */
export interface AuditQuery {
  /** Only sign-ins and passwords, or only administration. */
  kind?: 'sign_in' | 'administration'
  action?: string
  /** Part of the name or address of the actor or the target. */
  q?: string
  /** Not before this time. */
  from?: string
  /** Before this time. */
  to?: string
}

/** Administrators' actions and members' sign-ins, newest first. */
export async function listAuditEvents(
  query: AuditQuery & Page,
  signal?: AbortSignal,
): Promise<Counted<AuditEvent>> {
  return take(signed.GET('/v1/audit', { params: { query }, signal: signal ?? null }))
}
