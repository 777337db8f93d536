import { useMemo } from 'react'
import type { Proofread } from '@/lib/api'
import type { Proofreading } from '@/lib/stream'
import { useLazyPart } from '@/lib/ui/lazyPart'
import { proofreadPart } from './proofreadPart'

/** An answer that is a list of changes to a text, while it is written and after that. */
export function ProofreadAnswer({
  proofread,
  writing,
}: {
  proofread: Proofreading | Proofread
  writing: boolean
}) {
  const View = useLazyPart(proofreadPart, true)
  const known = useMemo(() => ({ ...proofread, unchecked: proofread.unchecked ?? [] }), [proofread])
  return View && <View proofread={known} writing={writing} />
}
