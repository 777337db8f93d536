import type { Skill } from '@/lib/api'
import { matches } from '@/lib/ui/match'

/** findSkills returns the skills that match a query. Visible matches come before matches of a keyword. */
export function findSkills(skills: readonly Skill[], query: string): Skill[] {
  const found = skills.filter((skill) => matches(query, skill.name, skill.description, ...skill.keywords))
  const shows = (skill: Skill) => (matches(query, skill.name, skill.description) ? 0 : 1)
  return found.sort((a, b) => shows(a) - shows(b))
}
