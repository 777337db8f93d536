import { queryOptions } from '@tanstack/react-query'
import { call, listAll, type SkillMember } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { queryClient } from '@/lib/api/queries'

/** allCategoriesQuery reads all categories, including empty ones. */
export const allCategoriesQuery = queryOptions({
  queryKey: ['categories', 'all'],
  queryFn: ({ signal }) => listAll((page) => call('listCategories', { all: true, ...page, signal })),
})

/** contentQuery reads a skill with its complete content. */
export function contentQuery(skillId: string) {
  return queryOptions({
    queryKey: ['made-skill', skillId],
    queryFn: ({ signal }) => call('getSkillContent', { skill_id: skillId, signal }),
  })
}

/** shelfQuery reads the skills of a shelf. */
export function shelfQuery(shelf: 'own' | 'organization', archived: boolean) {
  return listQuery(['made-skills', shelf, archived], 50, (page, signal) =>
    call('listMadeSkills', { shelf, archived, ...page, signal }),
  )
}

/** membersQuery searches members by name or address. */
export function membersQuery(q: string) {
  return listQuery<SkillMember>(['skill-members', q], 20, (page, signal) =>
    call('listUsers', { q, ...page, signal }),
  )
}

/** requestsQuery reads the pending requests. */
export const requestsQuery = queryOptions({
  queryKey: ['skill-requests'],
  queryFn: ({ signal }) => listAll((page) => call('listSkillRequests', { ...page, signal })),
})

/** versionsQuery reads the versions of a skill, newest first. */
export function versionsQuery(skillId: string) {
  return queryOptions({
    queryKey: ['made-skill', skillId, 'versions'],
    queryFn: ({ signal }) =>
      listAll((page) => call('listSkillVersions', { skill_id: skillId, ...page, signal })),
  })
}

/** hiddenQuery reads the standard skills that the organization hides. */
export const hiddenQuery = queryOptions({
  queryKey: ['hidden-skills'],
  queryFn: async ({ signal }) => (await call('listHiddenSkills', { signal })).items,
})

/** documentsQuery reads the user's readable files. */
export const documentsQuery = queryOptions({
  queryKey: ['skill-documents'],
  queryFn: async ({ signal }) =>
    (await listAll((page) => call('listDataSources', { ...page, signal }))).filter(
      ({ status }) => status === 'success',
    ),
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
