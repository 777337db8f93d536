import type { components } from '../../src/lib/api/schema.gen'
import type { Account } from './account'

export type Project = components['schemas']['Project']

/** Creates a project. */
export async function create(account: Account, name: string): Promise<Project> {
  const body = { request_id: crypto.randomUUID(), name, description: '春に発売する新製品の準備です。' }
  return (await (await account.call('POST', '/v1/project', body)).json()) as Project
}

/** Gives demo users roles in a project, which the first of them creates. */
export async function share(
  owner: Account,
  { id, version }: Project,
  roles: Record<string, string>,
): Promise<void> {
  const found = await owner.call('GET', `/v1/project/${id}/subject?search=demo.example&limit=100`)
  const { items } = (await found.json()) as components['schemas']['ProjectSubjectList']
  const grants = items.flatMap(({ email, ...subject }) => {
    const role = roles[email ?? '']
    return role ? [{ subject: { kind: subject.kind, id: subject.id }, role }] : []
  })
  await owner.call('PUT', `/v1/project/${id}/grant`, { version, grants })
}
