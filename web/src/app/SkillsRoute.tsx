import { HomeComposer } from '@/features/chat/composer/HomeComposer'
import { SkillsPage } from '@/features/skills/SkillsPage'

/** SkillsRoute shows the composer of the general chat, and the skills below. */
export function SkillsRoute() {
  return <SkillsPage composer={<HomeComposer />} />
}
