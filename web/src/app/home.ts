/** What the pages under /home/skill show, loaded together: whoever opens one of them soon opens the others. */
export { ChatPage, SkillPage, skillLoader } from '@/features/chat/routes'
export { skillsLoader } from '@/features/skills/loader'
export { threadsLoader } from '@/features/threads/loader'
export { SkillLayout } from '@/features/threads/SkillLayout'
export { HomeRoute, SkillsRoute } from './HomeRoute'
