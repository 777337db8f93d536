import { LazyPart } from '@/lib/ui/lazyPart'

/**
 * formPart loads the form of a skill. Most skills have none. The route loader waits for it, so that the layout does not
 * shift.
 */
export const formPart = new LazyPart(async () => (await import('./SkillForm')).SkillForm)
