import type { Category, Skill, Thread } from '@/lib/api'
import { texts } from './texts'

const RECENT = 4

/** The recently used skills, the latest first. */
export function recentSkills(skills: readonly Skill[], threads: readonly Thread[]): Skill[] {
  const ids = [...new Set(threads.map((thread) => thread.skill.id))]
  return ids.flatMap((id) => skills.find((skill) => skill.id === id) ?? []).slice(0, RECENT)
}

/** The skills by category, in the categories' order; those without a known one come last. */
export function inCategories(
  skills: readonly Skill[],
  categories: readonly Category[],
): Array<{ name: string; skills: Skill[] }> {
  const groups = categories.map((category) => ({
    name: category.name,
    skills: skills.filter((skill) => skill.category_id === category.id),
  }))
  const known = new Set(categories.map((category) => category.id))
  const others = skills.filter((skill) => !known.has(skill.category_id))
  return [...groups, { name: texts.other, skills: others }].filter((group) => group.skills.length > 0)
}
