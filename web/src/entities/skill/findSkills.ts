import type { Skill } from '@/lib/api'
import { matches } from '@/lib/ui/match'

/** The skills in which a query is found, those that show why before those that are found by a keyword alone. */
export function findSkills(skills: readonly Skill[], query: string): Skill[] {
  const found = skills.filter((skill) => matches(query, skill.name, skill.description, ...skill.keywords))
  const shows = (skill: Skill) => (matches(query, skill.name, skill.description) ? 0 : 1)
  return found.sort((a, b) => shows(a) - shows(b))
}
