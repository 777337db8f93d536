/** The pages under /home/skill. They are one chunk, because users often open several of them. */
export { ConversationPage, linkLoader, skillLoader } from '@/features/chat/routes'
export { skillsLoader } from '@/features/skills/loader'
export { SkillsRoute } from './SkillsRoute'
