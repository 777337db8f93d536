import { findSkills } from '@/entities/skill/findSkills'
import type { Category, Skill, Thread } from '@/lib/api'

const RECENT = 4

export interface Choice {
  readonly query: string
  /** The id of a category, or '' for all. */
  readonly category: string
}

/**
 * shownSkills returns the skills that match a choice, each once. Without a query, the recently used ones come first,
 * the others follow in the order of their categories. With a query, the order is that of the search.
 */
export function shownSkills(
  skills: readonly Skill[],
  categories: readonly Category[],
  threads: readonly Thread[],
  { query, category }: Choice,
): Skill[] {
  const chosen = skills.filter((skill) => category === '' || skill.category_id === category)
  if (query !== '') return findSkills(chosen, query)
  const used = [...new Set(threads.map((thread) => thread.skill.id))]
  const recent = used.flatMap((id) => chosen.find((skill) => skill.id === id) ?? []).slice(0, RECENT)
  const place = new Map(categories.map(({ id }, index) => [id, index]))
  const placeOf = (skill: Skill) => place.get(skill.category_id) ?? categories.length
  const others = chosen.filter((skill) => !recent.includes(skill))
  return [...recent, ...others.sort((a, b) => placeOf(a) - placeOf(b))]
}
