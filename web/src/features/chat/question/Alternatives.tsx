import { ChevronLeft, ChevronRight } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import type { Message } from '@/lib/api'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Branches.module.css'

/** Alternatives steps through the alternatives of a question or an answer: ‹ 2/3 ›. It is empty for a single one. */
export function Alternatives({ message, conversation }: { message: Message; conversation: Conversation }) {
  const { id, role, siblings } = message
  const count = siblings.length
  const index = siblings.indexOf(id)
  if (count < 2 || index < 0) return null
  const words = role === 'user' ? texts.branches.questions : texts.branches.answers
  const step = (by: number) => {
    const to = siblings[index + by]
    return {
      size: 'sm' as const,
      // Keep the focus on the button at the end of the row.
      'aria-disabled': to === undefined || undefined,
      onClick: () => to !== undefined && void conversation.goTo(to),
    }
  }
  return (
    <div className={styles.alternatives} role="group" aria-label={words.label} data-print="hide" data-unfold>
      <IconButton label={words.previous} {...step(-1)}>
        <ChevronLeft size={16} />
      </IconButton>
      <span role="status">
        <span aria-hidden>{`${index + 1}/${count}`}</span>
        <span className="visually-hidden">{texts.branches.position(index + 1, count)}</span>
      </span>
      <IconButton label={words.next} {...step(1)}>
        <ChevronRight size={16} />
      </IconButton>
    </div>
  )
}
