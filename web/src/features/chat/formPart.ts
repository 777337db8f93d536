import { LazyPart } from '@/lib/ui/lazyPart'

/** The form of a skill. Most skills have none; the loader of those that do waits for it, so that nothing moves. */
export const formPart = new LazyPart(async () => (await import('./SkillForm')).SkillForm)
