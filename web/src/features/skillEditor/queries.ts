import { queryOptions } from '@tanstack/react-query'
import { api } from '@/lib/api'
import { listMembers } from '@/lib/api/admin'
import { listDataSources } from '@/lib/api/dataSources'
import { listQuery } from '@/lib/api/lists'
import * as made from '@/lib/api/madeSkills'
import { queryClient } from '@/lib/api/queries'

/** allCategoriesQuery reads all categories, including empty ones. */
export const allCategoriesQuery = queryOptions({
  queryKey: ['categories', 'all'],
  queryFn: ({ signal }) => api.listAll((page) => made.listAllCategories(page, signal)),
})

/** contentQuery reads a skill with its complete content. */
export function contentQuery(skillId: string) {
  return queryOptions({
    queryKey: ['made-skill', skillId],
    queryFn: ({ signal }) => made.getSkillContent(skillId, signal),
  })
}

/** shelfQuery reads the skills of a shelf. */
export function shelfQuery(shelf: 'own' | 'organization', archived: boolean) {
  return listQuery(
    ['made-skills', shelf, archived],
    50,
    async (page, signal) => (await made.listMadeSkills({ shelf, archived, ...page }, signal)).items,
  )
}

/** membersQuery searches members by name or address. */
export function membersQuery(q: string) {
  return listQuery(
    ['skill-members', q],
    20,
    async (page, signal) => (await listMembers({ q, ...page }, signal)).items,
  )
}

/** requestsQuery reads the pending requests. */
export const requestsQuery = queryOptions({
  queryKey: ['skill-requests'],
  queryFn: ({ signal }) => made.listSkillRequests({ offset: 0, limit: 100 }, signal),
})

/** hiddenQuery reads the standard skills that the organization hides. */
export const hiddenQuery = queryOptions({
  queryKey: ['hidden-skills'],
  queryFn: ({ signal }) => made.listHiddenSkills(signal),
})

/** documentsQuery reads the user's readable files. */
export const documentsQuery = queryOptions({
  queryKey: ['skill-documents'],
  queryFn: async ({ signal }) =>
    (await api.listAll((page) => listDataSources(page, signal))).filter(({ status }) => status === 'success'),
})

/** refreshSkills invalidates the queries that depend on skills. */
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
