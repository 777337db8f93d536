import { atom, useAtomValue } from 'jotai'
import type { AnswerView, LiveAnswer } from '@/lib/stream'

const noView = atom<AnswerView | null>(null)

/** useView returns the state of an answer's stream; null without a stream. */
export function useView(live: LiveAnswer | null | undefined): AnswerView | null {
  return useAtomValue<AnswerView | null>(live?.viewAtom ?? noView)
}
