import { useQuery } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import type { Skill } from '@/lib/api'
import { skillsQuery } from '@/lib/api/queries'

/** MAX_ASKED is the maximum number of data sources in a thread. */
export const MAX_ASKED = 20

/** Ask opens the page of a skill with data sources in its composer. */
type Ask = (dataSourceIds: readonly string[]) => void

/** useAskSources returns functions that open a skill with data sources; undefined without such a skill. */
export function useAskSources(): { readonly ask: Ask | undefined; readonly summarize: Ask | undefined } {
  const skills = useQuery(skillsQuery).data ?? []
  const navigate = useNavigate()
  const open = (skill: Skill | undefined): Ask | undefined =>
    skill && ((dataSourceIds) => void navigate(`/home/skill/${skill.id}`, { state: { dataSourceIds } }))
  const usable = skills.filter((skill) => skill.accepts_data_sources && !skill.unavailable_reason)
  const forTask = (task: Skill['task_type']) => usable.find((skill) => skill.task_type === task)
  const plain = usable.find((skill) => skill.kind === '' && skill.form_type === 'chat')
  return { ask: open(forTask('document_qa') ?? plain), summarize: open(forTask('summarization')) }
}

/**
 * askedSources returns the data sources in the state of a history entry, which the skill's page puts into its composer.
 */
export function askedSources(state: unknown): readonly string[] {
  const ids = (state as { dataSourceIds?: unknown } | null)?.dataSourceIds
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string').slice(0, MAX_ASKED) : []
}
