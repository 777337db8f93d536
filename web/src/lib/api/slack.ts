import type { Page } from './client'
import { signed, take } from './http'
import type { SlackCheck, SlackConfig, SlackConfigPutRequest, SlackLink, SlackMemberLink } from './types'

/** The organization's Slack settings. For its administrators. */
export async function getSlackConfig(signal?: AbortSignal): Promise<SlackConfig> {
  return take(signed.GET('/v1/slack-config', { signal: signal ?? null }))
}

/**
 * Changes the fields in the request; an empty secret is removed. Like all changes of these settings, for super-admins
 * only.
 */
export async function putSlackConfig(request: SlackConfigPutRequest): Promise<SlackConfig> {
  return take(signed.PUT('/v1/slack-config', { body: request }))
}

/** Disconnects Slack, and deletes secrets and links. */
export async function deleteSlackConfig(): Promise<void> {
  await take(signed.DELETE('/v1/slack-config'))
}

/** The manifest of a Slack app for this server, as JSON. */
export async function getSlackManifest(socket: boolean, signal?: AbortSignal): Promise<string> {
  const answer = signed.GET('/v1/slack-config/manifest', {
    params: { query: { socket } },
    signal: signal ?? null,
  })
  return (await take(answer)).manifest
}

/** Tests each requirement of the connection. */
export async function testSlack(): Promise<SlackCheck[]> {
  return (await take(signed.POST('/v1/slack-config/test'))).checks
}

/** Begins the installation of the app, and returns the next URL for the browser. */
export async function installSlack(): Promise<string> {
  return (await take(signed.POST('/v1/slack-config/install'))).url
}

/** The members who are linked with Slack, the last linked first. */
export async function listSlackLinks(
  page: Page,
  signal?: AbortSignal,
): Promise<{ items: SlackMemberLink[]; total: number }> {
  return take(signed.GET('/v1/slack-config/link', { params: { query: page }, signal: signal ?? null }))
}

/** Removes a member's link. */
export async function unlinkSlackMember(userId: string): Promise<void> {
  await take(signed.DELETE('/v1/user/{user_id}/slack-link', { params: { path: { user_id: userId } } }))
}

/** The user's own link. `state`, from a notice in Slack, identifies the Slack account to link. */
export async function getSlackLink(state: string, signal?: AbortSignal): Promise<SlackLink> {
  const query = state === '' ? {} : { state }
  return take(signed.GET('/v1/slack-link', { params: { query }, signal: signal ?? null }))
}

/** Begins to link the user, and returns the next URL for the browser. */
export async function linkSlack(state: string): Promise<string> {
  return (await take(signed.POST('/v1/slack-link', { body: state === '' ? {} : { state } }))).url
}

/** Removes the user's own link. */
export async function unlinkSlack(): Promise<void> {
  await take(signed.DELETE('/v1/slack-link'))
}
