import { useAtomValue } from 'jotai'
import { MessageCircleDashed } from 'lucide-react'
import { Button } from '@/components/Button'
import { thenFocusComposer } from '@/lib/ui/composer'
import { formatFull } from '@/lib/ui/dates'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Temporary.module.css'

const words = texts.temporary

/**
 * Temporary explains at the top of a temporary conversation when it is deleted. Before the first question, it
 * has a button to make the conversation temporary.
 */
export function Temporary({ conversation }: { conversation: Conversation }) {
  const { thread, turns, temporary, project } = useAtomValue(conversation.stateAtom)
  const begun = thread !== null || turns.length > 0
  if ((begun || project !== null) && !temporary) return null
  return (
    <div className={styles.temporary} data-on={temporary || undefined}>
      {temporary && (
        <p role="status">
          <MessageCircleDashed size={16} aria-hidden />
          <span>{thread?.expires_at ? words.until(formatFull(thread.expires_at)) : words.note}</span>
        </p>
      )}
      {!begun && (
        <Button
          size="sm"
          variant="quiet"
          aria-pressed={temporary}
          onClick={thenFocusComposer(() => conversation.setTemporary(!temporary))}
        >
          {!temporary && <MessageCircleDashed size={16} aria-hidden />}
          {temporary ? words.off : words.on}
        </Button>
      )}
    </div>
  )
}
