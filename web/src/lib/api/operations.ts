import { assertRequired } from './errors'
import type { paths } from './schema.gen'

/** Method is the HTTP method of a call. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

type Endpoint<Path extends keyof paths> = {
  [M in Method]: paths[Path] extends Record<Lowercase<M>, unknown> ? `${M} ${Path}` : never
}[Method]

interface Operation {
  /** The name of the function that makes the call. */
  readonly name: string
  /** The name of the required body. */
  readonly body?: string
  /** A required field of the query or the body. */
  readonly field?: string
}

/**
 * The names for errors about missing arguments, and the required arguments that are not part of the path. An operation
 * without a name is named by its method and path.
 */
const operations: { readonly [E in Endpoint<keyof paths>]?: Operation } = {
  'POST /v1/auth-type': { name: 'authType', body: 'authTypeRequest' },
  'GET /v1/oauth2/link': { name: 'getSsoLink', field: 'organization_id' },
  'POST /v1/oauth2/link': { name: 'confirmSsoLink', field: 'organization_id' },
  'DELETE /v1/session/{session_id}': { name: 'endSession' },
  'PUT /v1/session-limits': { name: 'putSessionLimits', body: 'sessionLimits' },
  'PUT /v1/guidance/about': { name: 'putAbout', body: 'about' },

  'POST /v1/user/invite': { name: 'inviteMembers', body: 'userInviteRequest' },
  'POST /v1/user/invite/resend': { name: 'resendInvitation', body: 'userInviteResendRequest' },
  'PUT /v1/user/{user_id}': { name: 'editMember', body: 'userEditRequest' },
  'DELETE /v1/user/{user_id}': { name: 'removeMember' },
  'GET /v1/user/{user_id}/shared-document': { name: 'listSharedDocuments' },
  'DELETE /v1/user/{user_id}/session': { name: 'endMemberSessions' },
  'DELETE /v1/user/{user_id}/sso-link': { name: 'unlinkMember' },
  'DELETE /v1/user/{user_id}/slack-link': { name: 'unlinkSlackMember' },
  'PUT /v1/saml-config': { name: 'putSamlConfig', body: 'sAMLConfigPutRequest' },
  'GET /v1/saml-config/test/{test_id}': { name: 'getSamlTest' },
  'DELETE /v1/connection/{connection_id}': { name: 'endConnection' },
  'DELETE /v1/organization/connection/{connection_id}': { name: 'endOrganizationConnection' },
  'PUT /v1/notification/read': { name: 'readNotifications', body: 'notificationReadRequest' },

  'PUT /v1/category/{category_id}': { name: 'renameCategory' },
  'DELETE /v1/category/{category_id}': { name: 'removeCategory' },
  'GET /v1/skill/{skill_id}': { name: 'getSkill' },
  'PUT /v1/skill/{skill_id}': { name: 'changeSkill' },
  'DELETE /v1/skill/{skill_id}': { name: 'archiveSkill' },
  'POST /v1/skill/{skill_id}/restore': { name: 'archiveSkill' },
  'GET /v1/skill/{skill_id}/content': { name: 'getSkillContent' },
  'POST /v1/skill/{skill_id}/copy': { name: 'copySkill' },
  'GET /v1/skill/{skill_id}/version': { name: 'listSkillVersions' },
  'GET /v1/skill/{skill_id}/version/{version}': { name: 'getSkillVersion' },
  'GET /v1/skill/{skill_id}/export': { name: 'exportSkill' },
  'PUT /v1/skill/{skill_id}/request': { name: 'requestSkill' },
  'DELETE /v1/skill/{skill_id}/request': { name: 'requestSkill' },
  'GET /v1/skill/request/{skill_request_id}': { name: 'getSkillRequest' },
  'PUT /v1/skill/request/{skill_request_id}': { name: 'decideSkillRequest' },
  'PUT /v1/skill/{skill_id}/hidden': { name: 'hideSkill' },
  'POST /v1/favorite_skill': { name: 'addFavoriteSkill', body: 'favoriteSkillPostRequest' },
  'DELETE /v1/favorite_skill': { name: 'removeFavoriteSkill', body: 'favoriteSkillDeleteRequest' },

  'POST /v1/thread': { name: 'createThread', body: 'threadCreateRequest' },
  'GET /v1/thread/{thread_id}': { name: 'getThread' },
  'PUT /v1/thread/{thread_id}': { name: 'editThread', body: 'threadEditRequest' },
  'DELETE /v1/thread/{thread_id}': { name: 'deleteThread' },
  'PUT /v1/thread/{thread_id}/touch': { name: 'touchThread' },
  'PUT /v1/thread/{thread_id}/share': { name: 'shareThread' },
  'GET /v1/share/{share_id}': { name: 'getShare' },
  'GET /v1/message': { name: 'listMessages', field: 'thread_id' },
  'POST /v1/message/async': { name: 'askMessage', body: 'messageAsyncRequest' },
  'POST /v1/message/{message_id}/stop': { name: 'stopMessage' },
  'PUT /v1/message/{message_id}/decision': { name: 'decideChanges' },
  'GET /v1/message/{message_id}/docx': { name: 'proofreadDocx' },
  'POST /v1/message_feedback': { name: 'giveFeedback', body: 'feedbackRequest' },
  'DELETE /v1/message_feedback/{message_id}': { name: 'withdrawFeedback' },

  'POST /v1/picture': { name: 'uploadPicture' },
  'GET /v1/picture/{picture_id}': { name: 'getPicture' },
  'DELETE /v1/picture/{picture_id}': { name: 'deletePicture' },
  'POST /v1/data-source/file': { name: 'uploadDataSource' },
  'GET /v1/data-source/file/{data_source_id}': { name: 'downloadDataSource' },
  'GET /v1/data-source/{data_source_id}': { name: 'getDataSource' },
  'DELETE /v1/data-source/{data_source_id}': { name: 'deleteDataSource' },
  'GET /v1/data-source/{data_source_id}/passage': { name: 'listPassages' },
  'GET /v1/data-source/{data_source_id}/page/{page}': { name: 'getPagePicture' },
  'POST /v1/data-source/{data_source_id}/stop': { name: 'stopDataSource' },
  'POST /v1/data-source/{data_source_id}/read': { name: 'readDataSource' },
  'GET /v1/data-source-chunk-embedding/{chunk_embedding_id}': { name: 'getPassage' },
}

/** CallArguments are the arguments of a call that may be required. */
export interface CallArguments {
  readonly params?: {
    readonly path?: Readonly<Record<string, unknown>>
    readonly query?: Readonly<Record<string, unknown>>
  }
  readonly body?: unknown
}

/** assertArguments throws a RequiredError if a required argument of a call is missing. */
export function assertArguments(method: Method, path: string, { params, body }: CallArguments = {}): void {
  const operation = operationOf(method, path)
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g))
    assertRequired(operation.name, camelCase(name), params?.path?.[name])
  if (operation.field !== undefined) {
    const fields = { ...params?.query, ...(body as Record<string, unknown> | undefined) }
    assertRequired(operation.name, camelCase(operation.field), fields[operation.field])
  }
  if (operation.body !== undefined) assertRequired(operation.name, operation.body, presentBody(body))
}

/** assertFile throws a RequiredError if the file of an upload is missing. */
export function assertFile(path: string, file: File): void {
  assertRequired(operationOf('POST', path).name, 'file', file)
}

function operationOf(method: Method, path: string): Operation {
  const endpoint = `${method} ${path}`
  return (operations as Readonly<Record<string, Operation>>)[endpoint] ?? { name: endpoint }
}

/** presentBody returns the body of a request, or undefined if none of its fields has a value. */
function presentBody(body: unknown): unknown {
  const values = typeof body === 'object' && body !== null ? Object.values(body) : []
  const empty = values.length > 0 && values.every((value) => value === undefined || value === null)
  return empty ? undefined : body
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
