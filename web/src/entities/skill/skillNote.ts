import { useQuery } from '@tanstack/react-query'
import type { Skill } from '@/lib/api'
import { configQuery } from '@/lib/api/queries'

const LIMITED = 'AIモデルが未設定のため、文章の要約と、ファイルからの引用だけを利用できます。'

/** Why a skill is unavailable or limited at the moment; undefined if it is not. */
export function useSkillNote(skill: Skill): string | undefined {
  return skillNote(skill, useQuery(configQuery).data?.model_connected ?? true)
}

/** skillNote returns the same note, given whether a model is connected. */
export function skillNote(skill: Skill, connected: boolean): string | undefined {
  if (skill.unavailable_reason) return skill.unavailable_reason
  const plain = skill.kind === '' && !skill.task_type && skill.form_type === 'chat'
  return plain && !connected ? LIMITED : undefined
}
