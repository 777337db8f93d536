import type { Page } from './client'
import { signed, take } from './http'
import type {
  Category,
  MadeSkill,
  Skill,
  SkillAudience,
  SkillContent,
  SkillRequest,
  SkillVersion,
  Thread,
} from './types'

/** A list with the number of all items. */
interface Counted<T> {
  items: T[]
  total: number
}

/** SkillSaving is the request to save a skill. */
export interface SkillSaving {
  request_id: string
  audience: SkillAudience
  member_ids?: string[]
  content: SkillContent
}

const at = (skillId: string) => ({ params: { path: { skill_id: skillId } } })

/** All categories, including empty ones. */
export async function listAllCategories(page: Page, signal?: AbortSignal): Promise<Category[]> {
  const query = { all: true, ...page }
  return (await take(signed.GET('/v1/category', { params: { query }, signal: signal ?? null }))).items
}

/** Adds a category. */
export async function createCategory(name: string): Promise<Category> {
  return take(signed.POST('/v1/category', { body: { name } }))
}

/** Renames a category that was created in the app. */
export async function renameCategory(categoryId: string, name: string): Promise<Category> {
  const params = { path: { category_id: categoryId } }
  return take(signed.PUT('/v1/category/{category_id}', { params, body: { name } }))
}

/** Removes a category that was created in the app. Its skills move to the replacement. */
export async function removeCategory(categoryId: string, replacementId: string): Promise<void> {
  const params = { path: { category_id: categoryId }, query: { replacement_id: replacementId } }
  await take(signed.DELETE('/v1/category/{category_id}', { params }))
}

/** Sets the order of all categories. */
export async function orderCategories(ids: string[]): Promise<void> {
  await take(signed.PUT('/v1/category/order', { body: { category_ids: ids } }))
}

/** The skills of a shelf that the user may edit, last saved first. */
export async function listMadeSkills(
  query: Page & { shelf: 'own' | 'organization'; archived: boolean },
  signal?: AbortSignal,
): Promise<Counted<MadeSkill>> {
  return take(signed.GET('/v1/skill/library', { params: { query }, signal: signal ?? null }))
}

/** A skill with its complete content. */
export async function getSkillContent(skillId: string, signal?: AbortSignal): Promise<MadeSkill> {
  return take(signed.GET('/v1/skill/{skill_id}/content', { ...at(skillId), signal: signal ?? null }))
}

/** Creates a skill. */
export async function createSkill(body: SkillSaving): Promise<MadeSkill> {
  return take(signed.POST('/v1/skill', { body }))
}

/** Saves a new version of a skill. */
export async function changeSkill(
  skillId: string,
  body: SkillSaving & { version: number },
): Promise<MadeSkill> {
  return take(signed.PUT('/v1/skill/{skill_id}', { ...at(skillId), body }))
}

/** Archives or restores a skill. */
export async function archiveSkill(skillId: string, archived: boolean): Promise<void> {
  if (archived) await take(signed.DELETE('/v1/skill/{skill_id}', at(skillId)))
  else await take(signed.POST('/v1/skill/{skill_id}/restore', at(skillId)))
}

/** Creates a copy of a skill. */
export async function copySkill(
  skillId: string,
  body: { request_id: string; audience: 'self' | 'organization' },
): Promise<MadeSkill> {
  return take(signed.POST('/v1/skill/{skill_id}/copy', { ...at(skillId), body }))
}

/** The versions of a skill, newest first. */
export async function listSkillVersions(skillId: string, page: Page): Promise<Counted<SkillVersion>> {
  const params = { path: { skill_id: skillId }, query: page }
  return take(signed.GET('/v1/skill/{skill_id}/version', { params }))
}

/** One version of a skill, with its content. */
export async function getSkillVersion(skillId: string, version: number): Promise<SkillVersion> {
  const params = { path: { skill_id: skillId, version } }
  return take(signed.GET('/v1/skill/{skill_id}/version/{version}', { params }))
}

/** A skill as a file. */
export async function exportSkill(skillId: string): Promise<string> {
  return take(signed.GET('/v1/skill/{skill_id}/export', { ...at(skillId), parseAs: 'text' }))
}

/** The skills in a file. */
export async function readSkills(yaml: string): Promise<SkillContent[]> {
  return (await take(signed.POST('/v1/skill/import', { body: { yaml } }))).items
}

/** Creates a thread that tries unsaved content. */
export async function trySkill(body: {
  request_id: string
  slot: string
  content: SkillContent
}): Promise<Thread> {
  return take(signed.POST('/v1/skill/try', { body }))
}

/** Requests the publication of a personal skill; null withdraws the request. */
export async function requestSkill(skillId: string, note: string | null): Promise<MadeSkill> {
  if (note === null) return take(signed.DELETE('/v1/skill/{skill_id}/request', at(skillId)))
  return take(signed.PUT('/v1/skill/{skill_id}/request', { ...at(skillId), body: { note } }))
}

/** The pending requests of the organization, oldest first. */
export async function listSkillRequests(page: Page, signal?: AbortSignal): Promise<Counted<SkillRequest>> {
  return take(signed.GET('/v1/skill/request', { params: { query: page }, signal: signal ?? null }))
}

/** A request with the content to publish. */
export async function getSkillRequest(requestId: string): Promise<SkillRequest> {
  const params = { path: { skill_request_id: requestId } }
  return take(signed.GET('/v1/skill/request/{skill_request_id}', { params }))
}

/** Approves or rejects a request. */
export async function decideSkillRequest(
  requestId: string,
  body: { approve: boolean; reason: string },
): Promise<void> {
  const params = { path: { skill_request_id: requestId } }
  await take(signed.PUT('/v1/skill/request/{skill_request_id}', { params, body }))
}

/** The standard skills that the organization hides. */
export async function listHiddenSkills(signal?: AbortSignal): Promise<Skill[]> {
  return (await take(signed.GET('/v1/skill/hidden', { signal: signal ?? null }))).items
}

/** Hides a standard skill in the organization, or shows it again. */
export async function hideSkill(skillId: string, hidden: boolean): Promise<void> {
  await take(signed.PUT('/v1/skill/{skill_id}/hidden', { ...at(skillId), body: { hidden } }))
}
