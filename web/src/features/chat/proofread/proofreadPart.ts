import { LazyPart } from '@/lib/ui/lazyPart'

/** proofreadPart loads the view of a proofread text, which only one skill has. */
export const proofreadPart = new LazyPart(async () => (await import('./ProofreadView')).ProofreadView)
