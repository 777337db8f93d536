import { queryOptions } from '@tanstack/react-query'
import { call } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { stopAll } from '@/lib/live/live'
import { Throttle } from '@/lib/ui/scrollTrigger'

/** The key prefix of everything about projects in the query cache. */
export const PROJECTS = ['projects'] as const

/** RECENT is the number of projects in the sidebar. */
const RECENT = 5

/** The projects that were changed last. */
export const recentProjectsQuery = queryOptions({
  queryKey: [...PROJECTS, 'recent'],
  queryFn: ({ signal }) => call('listProjects', { order: 'updated', offset: 0, limit: RECENT, signal }),
})

/** How long a deleted project can be restored, in milliseconds. */
const RESTORABLE_MS = 30 * 24 * 3_600_000

/** restorableUntil returns until when a project that was deleted at a time can be restored. */
export function restorableUntil(deletedAt: string): string {
  return new Date(Date.parse(deletedAt) + RESTORABLE_MS).toISOString()
}

/** refreshProjects loads what is shown of projects again. */
export async function refreshProjects(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: PROJECTS })
}

const refreshes = new Throttle(() => void refreshProjects(), 1000)

/** refreshSoon is like refreshProjects, at most once a second: a folder of files is many changes. */
export const refreshSoon = refreshes.call

/** followProjects loads projects again when the server reports a change, until the returned function is called. */
export function followProjects(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  return stopAll(
    live.on('project', refreshSoon),
    live.on('thread', ({ thread }) => {
      if (thread === undefined || thread.project) refreshSoon()
    }),
    live.onMissed(refreshSoon),
    () => refreshes.cancel(),
  )
}
