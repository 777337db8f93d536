import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { PROJECTS, refreshProjects } from '@/entities/project/projects'
import { rememberSources } from '@/entities/source/dataSources'
import { threadDeletions } from '@/entities/thread/threads'
import {
  ApiError,
  type Arguments,
  call,
  type Project,
  type ProjectDataSource,
  type ProjectGrantInput,
  type ProjectPutRequest,
  type Thread,
} from '@/lib/api'
import { type List, type ListQuery, listQuery, useList } from '@/lib/api/lists'
import { queryClient } from '@/lib/api/queries'
import { useDebounced } from '@/lib/ui/debounced'

/** The number of items in a page of a list. */
export const PAGE = 20

/** ProjectState is the state of the projects in a list. */
export type ProjectState = NonNullable<Arguments<'listProjects'>['state']>

/** The key prefix of everything in a project. */
function inProject(id: string, ...rest: string[]): readonly string[] {
  return [...PROJECTS, 'one', id, ...rest]
}

type ProjectArguments = { project_id: string; signal: AbortSignal }

/** read returns the query of an operation on a project. `of` names it in the key. */
function read<T>(id: string, of: readonly string[], load: (project: ProjectArguments) => Promise<T>) {
  return queryOptions({
    queryKey: inProject(id, ...of),
    queryFn: ({ signal }) => load({ project_id: id, signal }),
    staleTime: 0,
  })
}

/** One project; 404 if the user has no role in it. */
export const projectQuery = (id: string) => read(id, [], (project) => call('getProject', project))

/** The grants of a project. */
export const grantsQuery = (id: string) =>
  read(id, ['grants'], (project) => call('getProjectGrants', project))

/** The members' tokens in a project in this month. */
export const usageQuery = (id: string) => read(id, ['usage'], (project) => call('getProjectUsage', project))

/** The channels of Slack that are bound to a project. */
export const channelsQuery = (id: string) =>
  read(id, ['channels'], async (project) => (await call('listProjectChannels', project)).items)

/** The workspace of Slack that the organization is connected with. */
export const slackQuery = queryOptions({
  queryKey: ['slack-workspace'],
  queryFn: ({ signal }) => call('getSlackLink', { signal }),
})

/** useFound returns the items that match a search. The last ones stay until the next ones have arrived. */
function useFound<T extends { readonly id: string }>(
  query: string,
  listOf: (search: string) => ListQuery<T>,
): List<T> {
  const search = useDebounced(query.trim())
  const list = useList({ ...listOf(search), placeholderData: keepPreviousData, staleTime: 0 })
  return { ...list, asking: list.asking || search !== query.trim() }
}

/** useProjects returns the projects in a state whose names match a search. */
export function useProjects(state: ProjectState, query: string): List<Project> {
  return useFound(query, (search) =>
    listQuery<Project>([...PROJECTS, 'list', state, search], PAGE, (page, signal) =>
      call('listProjects', { state, search, ...page, signal }),
    ),
  )
}

/** useProjectThreads returns the threads of a project that the user may read, last used first. */
export function useProjectThreads(id: string, visibility: Thread['visibility'] | undefined): List<Thread> {
  const list = useFound('', () =>
    listQuery<Thread>(inProject(id, 'threads', visibility ?? ''), PAGE, (page, signal) =>
      call('listThreads', { project_id: id, ...(visibility && { visibility }), ...page, signal }),
    ),
  )
  return { ...list, items: threadDeletions.useKept(list.items) }
}

/** The interval for polling a list with unread files, in milliseconds. */
const READING_MS = 3000

/** useProjectSources returns the files of a project that match a search, newest first. */
export function useProjectSources(id: string, query: string): List<ProjectDataSource> {
  return useFound(query, (search) => ({
    ...listQuery<ProjectDataSource>(inProject(id, 'sources', search), PAGE, async (page, signal) => {
      const sources = await call('listProjectDataSources', { project_id: id, search, ...page, signal })
      rememberSources(sources.items) // For the viewer.
      return sources
    }),
    // The server sends no events about the reading of a project's files.
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(isBeingRead)) ? READING_MS : false,
  }))
}

function isBeingRead({ status }: ProjectDataSource): boolean {
  return status === 'pending' || status === 'running'
}

/**
 * useProjectMatches returns the passages of a project's files that are most relevant to a search. The last ones stay
 * until the next ones have arrived.
 */
export function useProjectMatches(id: string, query: string) {
  const q = useDebounced(query.trim())
  const { data, isError, isFetching, refetch } = useQuery({
    ...read(id, ['matches', q], async (project) => (await call('searchProject', { ...project, q })).items),
    placeholderData: keepPreviousData,
  })
  return { data, isError, refetch, asking: isFetching || q !== query.trim() }
}

/** isConflict reports whether a change failed because the project has a newer version. */
export function isConflict(cause: unknown): boolean {
  return cause instanceof ApiError && cause.code === 'version_conflict'
}

/** saveProject changes fields of a project as known in its given version, and stores the result. */
export async function saveProject(project: Project, change: Partial<ProjectPutRequest>): Promise<Project> {
  const { version, name, description, instructions, skill_id } = project
  const { archived, retention_days, storage_limit } = project
  // The server resets fields that are missing.
  const known = {
    version,
    name,
    description,
    instructions,
    skill_id,
    archived,
    retention_days,
    storage_limit,
  }
  const body = { ...known, ...change } as ProjectPutRequest
  const saved = await call('editProject', { project_id: project.id, body })
  queryClient.setQueryData(projectQuery(project.id).queryKey, saved)
  void refreshProjects()
  return saved
}

/** readProject reads the current record of a project. */
export function readProject(id: string): Promise<Project> {
  return queryClient.fetchQuery(projectQuery(id))
}

/** The number of attempts to change grants that others change at the same time. */
const ATTEMPTS = 3

/**
 * changeGrants changes the grants of a project. If they have changed meanwhile, it applies the change to the current
 * grants.
 */
export async function changeGrants(
  id: string,
  change: (grants: readonly ProjectGrantInput[]) => readonly ProjectGrantInput[],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { version, grants } = await call('getProjectGrants', { project_id: id })
    const changed = change(grants).map(({ subject: { kind, id }, role }) => ({
      subject: { kind, ...(id && { id }) },
      role,
    }))
    try {
      const body = { version, grants: changed }
      const saved = await call('setProjectGrants', { project_id: id, body })
      queryClient.setQueryData(grantsQuery(id).queryKey, saved)
      void refreshProjects()
      return
    } catch (cause) {
      if (!isConflict(cause) || attempt === ATTEMPTS) throw cause
    }
  }
}
