import { useQuery } from '@tanstack/react-query'
import type { Skill } from '@/lib/api'
import { configQuery } from '@/lib/api/queries'

const LIMITED =
  'AIモデルが未設定のため、文章の要約と、資料からの引用だけを利用できます。管理者にお知らせください。'

/** Why a skill is unavailable or limited at the moment; undefined if it is not. */
export function useSkillNote(skill: Skill): string | undefined {
  const connected = useQuery(configQuery).data?.model_connected ?? true
  if (skill.unavailable_reason) return skill.unavailable_reason
  const plain = skill.kind === '' && !skill.task_type && skill.form_type === 'chat'
  return plain && !connected ? LIMITED : undefined
}
