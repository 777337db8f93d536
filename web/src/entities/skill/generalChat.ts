import type { Skill } from '@/lib/api'

/** The id of the built-in skill for everything without a specific skill. Ids of built-in skills are permanent. */
export const GENERAL_CHAT = '01a1fbed-16d4-7674-9621-a2bbc8a4cc61'

/** The general chat; undefined if the server has none. */
export function findGeneralChat(skills: readonly Skill[] | undefined): Skill | undefined {
  return skills?.find((skill) => skill.id === GENERAL_CHAT)
}
