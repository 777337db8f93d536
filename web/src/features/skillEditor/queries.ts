import { queryOptions } from '@tanstack/react-query'
import { api } from '@/lib/api'
import { listMembers } from '@/lib/api/admin'
import { listDataSources } from '@/lib/api/dataSources'
import { listQuery } from '@/lib/api/lists'
import * as made from '@/lib/api/madeSkills'
import { queryClient } from '@/lib/api/queries'

/** All categories, with skills or without. */
export const allCategoriesQuery = queryOptions({
  queryKey: ['categories', 'all'],
  queryFn: ({ signal }) => api.listAll((page) => made.listAllCategories(page, signal)),
})

/** A skill with all that it is made of. */
export function contentQuery(skillId: string) {
  return queryOptions({
    queryKey: ['made-skill', skillId],
    queryFn: ({ signal }) => made.getSkillContent(skillId, signal),
  })
}

/** The skills of a shelf. */
export function shelfQuery(shelf: 'own' | 'organization', archived: boolean) {
  return listQuery(
    ['made-skills', shelf, archived],
    50,
    async (page, signal) => (await made.listMadeSkills({ shelf, archived, ...page }, signal)).items,
  )
}

/** The members whose name or address contains words. */
export function membersQuery(q: string) {
  return listQuery(
    ['skill-members', q],
    20,
    async (page, signal) => (await listMembers({ q, ...page }, signal)).items,
  )
}

/** The pending requests. */
export const requestsQuery = queryOptions({
  queryKey: ['skill-requests'],
  queryFn: ({ signal }) => made.listSkillRequests({ offset: 0, limit: 100 }, signal),
})

/** The skills that the organization does not offer. */
export const hiddenQuery = queryOptions({
  queryKey: ['hidden-skills'],
  queryFn: ({ signal }) => made.listHiddenSkills(signal),
})

/** The user's files that can be read. */
export const documentsQuery = queryOptions({
  queryKey: ['skill-documents'],
  queryFn: async ({ signal }) =>
    (await api.listAll((page) => listDataSources(page, signal))).filter(({ status }) => status === 'success'),
})

/** Reads anew what a change to a skill has changed. */
export function refreshSkills(): void {
  for (const key of [
    'made-skill',
    'made-skills',
    'skill-requests',
    'hidden-skills',
    'skills',
    'categories',
    'skill',
  ])
    void queryClient.invalidateQueries({ queryKey: [key] })
}
