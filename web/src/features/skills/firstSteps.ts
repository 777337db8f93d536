import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isAdmin } from '@/entities/session/guard'
import { useThreads } from '@/entities/thread/threads'
import { call, type Me } from '@/lib/api'
import { configQuery, skillsQuery } from '@/lib/api/queries'

/** Step is a step of the setup and the path of its page. */
export interface Step {
  readonly name: 'model' | 'members' | 'skill'
  readonly done: boolean
  readonly to: string
}

/**
 * useFirstSteps returns the steps of the setup, and a function that hides them on this device. The steps are undefined
 * while they are loading, and null after they were done or hidden and for users who are not administrators.
 */
export function useFirstSteps({ id, role }: Me): {
  steps: readonly Step[] | null | undefined
  hide: () => void
} {
  const key = `tsumugiFirstSteps:${id}`
  const [hidden, setHidden] = useState(() => localStorage.getItem(key) !== null)
  const enabled = isAdmin(role) && !hidden
  // The state may have changed on the pages of the steps.
  const config = useQuery({ ...configQuery, enabled, staleTime: 10_000 }).data
  const members = useQuery({
    queryKey: ['members', 'count'],
    queryFn: async ({ signal }) => (await call('listUsers', { offset: 0, limit: 1, signal })).total,
    enabled,
    staleTime: 0,
  }).data
  const skills = useQuery(skillsQuery).data
  const threads = useThreads()

  const known = enabled && config && members !== undefined && skills && threads.loaded
  // A question about a file gets an answer with sources.
  const first = skills?.find(({ task_type }) => task_type === 'document_qa') ?? skills?.[0]
  const steps: readonly Step[] | undefined = known
    ? [
        { name: 'model', done: config.model_connected, to: '/admin/model' },
        { name: 'members', done: members > 1, to: '/admin/organization/member' },
        { name: 'skill', done: threads.items.length > 0, to: `/home/skill/${first?.id ?? ''}` },
      ]
    : undefined
  const done = steps?.every((step) => step.done) ?? false
  const hide = () => {
    localStorage.setItem(key, 'done')
    setHidden(true)
  }
  useEffect(() => {
    // Otherwise the steps would be shown again after the threads are deleted.
    if (done) localStorage.setItem(key, 'done')
  }, [done, key])
  return { steps: !enabled || done ? null : steps, hide }
}
