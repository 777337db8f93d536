import { useQuery } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import type { Skill } from '@/lib/api'
import { skillsQuery } from '@/lib/api/queries'

/** How many data sources a thread may have. */
export const MAX_ASKED = 20

/** Opens the page of a skill with some data sources in its composer. */
type Ask = (dataSourceIds: readonly string[]) => void

/** The ways to use data sources; undefined where no skill can. */
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

/** The data sources that a page of a skill was opened with, by the state of its history entry. */
export function askedSources(state: unknown): readonly string[] {
  const ids = (state as { dataSourceIds?: unknown } | null)?.dataSourceIds
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string').slice(0, MAX_ASKED) : []
}
