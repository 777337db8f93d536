import type { ProjectList } from '@/lib/api'
import { readJSON } from './session'

/** Project is a project of the user. */
export interface Project {
  readonly id: string
  readonly name: string
}

/** AccountProjects are the projects of the signed-in account, by name. */
export interface AccountProjects {
  readonly accountId: string
  readonly projects: readonly Project[]
}

/** The largest page of the list. */
const pageSize = 100

/** readProjects reads the projects of the signed-in account that are not archived. */
export async function readProjects(): Promise<AccountProjects> {
  const { id } = await readJSON<{ id: string }>('/v1/me')
  const projects: Project[] = []
  for (;;) {
    const { items, total } = await readJSON<ProjectList>(
      `/v1/project?offset=${projects.length}&limit=${pageSize}`,
    )
    projects.push(...items.map((item) => ({ id: item.id, name: item.name })))
    if (items.length === 0 || projects.length >= total) return { accountId: id, projects }
  }
}

const keyOf = (accountId: string) => `project:${accountId}`

/** readChosen returns the id of the project that an account has chosen last; null for none. */
export async function readChosen(accountId: string): Promise<string | null> {
  const key = keyOf(accountId)
  return ((await chrome.storage.local.get(key))[key] as string | undefined) ?? null
}

/** saveChosen remembers the choice of an account. */
export async function saveChosen(accountId: string, projectId: string | null): Promise<void> {
  if (projectId === null) await chrome.storage.local.remove(keyOf(accountId))
  else await chrome.storage.local.set({ [keyOf(accountId)]: projectId })
}
