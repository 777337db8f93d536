/** The pages under /home/skill, loaded together: people who open one of them soon open the others. */
export { ChatPage, SkillPage, skillLoader } from '@/features/chat/routes'
export { skillsLoader } from '@/features/skills/loader'
export { threadsLoader } from '@/features/threads/loader'
export { SkillLayout } from '@/features/threads/SkillLayout'
export { HomeRoute, SkillsRoute } from './HomeRoute'
