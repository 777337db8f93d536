import { useAtomValue } from 'jotai'
import { CornerDownRight } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { thenFocusComposer } from '@/lib/ui/composer'
import { useSuggestions } from '@/lib/ui/suggestions'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { isWriting, type Turn } from '../conversation/turns'
import { texts } from '../texts'
import styles from './Answer.module.css'

/** FollowUps shows questions that may follow the last answer. A click asks one. */
export function FollowUps({
  turn,
  conversation,
  onAsk,
}: {
  turn: Turn
  conversation: Conversation
  onAsk: (question: Question) => void
}) {
  const busy = useAtomValue(conversation.busyAtom)
  const enabled = useSuggestions() === 'on'
  useRequest(turn, conversation, enabled)
  const { suggestions = [] } = turn.message
  if (!enabled || isWriting(turn) || suggestions.length === 0) return null
  return (
    <ul className={styles.followUps} aria-label={texts.followUps} data-print="hide">
      {suggestions.map((content) => (
        <li key={content}>
          <button
            type="button"
            disabled={busy}
            onClick={thenFocusComposer(() => onAsk({ kind: 'text', content }))}
          >
            <CornerDownRight size={14} aria-hidden />
            {content}
          </button>
        </li>
      ))}
    </ul>
  )
}

/** useRequest requests suggestions for an answer that ends on the screen, as soon as the tab is visible. */
function useRequest(turn: Turn, conversation: Conversation, enabled: boolean): void {
  const { message } = turn
  const writing = isWriting(turn)
  const written = useRef(false)
  const { temporary } = conversation.state
  const finished = !writing && message.finish_reason === 'stop' && message.proofread === undefined
  useEffect(() => {
    written.current ||= writing
    if (!written.current || !finished || !enabled || temporary) return
    const request = () => {
      if (document.visibilityState === 'hidden' || !written.current) return
      written.current = false
      void conversation.suggest(message.id)
    }
    request()
    document.addEventListener('visibilitychange', request)
    return () => document.removeEventListener('visibilitychange', request)
  }, [conversation, writing, finished, enabled, temporary, message.id])
}
