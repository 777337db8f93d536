import { Copy, RotateCcw, ThumbsDown, ThumbsUp } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '@/components/IconButton'
import type { Message } from '@/lib/api'
import { formatDate, formatFull } from '@/lib/dates'
import { toast, toastFailure } from '@/lib/toast'
import styles from './Chat.module.css'
import { focusComposer } from './Composer'
import type { Conversation } from './conversation'
import { FeedbackDialog } from './FeedbackDialog'
import { texts } from './texts'

/** What can be done with a finished answer, and when it was given. */
export function Actions({
  message,
  conversation,
  last,
  busy,
}: {
  message: Message
  conversation: Conversation
  last: boolean
  busy: boolean
}) {
  const [commenting, setCommenting] = useState(false)
  const rating = message.feedback?.rating
  const at = message.completed_at ?? message.created_at
  return (
    <div className={styles.actions} role="group" aria-label={texts.actions.label} data-print="hide">
      {message.content !== '' && (
        <>
          <IconButton size="sm" label={texts.actions.copy} onClick={() => copy(message.content)}>
            <Copy size={16} />
          </IconButton>
          <IconButton
            size="sm"
            label={texts.actions.good}
            aria-pressed={rating === 'good'}
            onClick={() => void conversation.rate(message.id, 'good')}
          >
            <ThumbsUp size={16} fill={rating === 'good' ? 'currentColor' : 'none'} />
          </IconButton>
          <IconButton
            size="sm"
            label={texts.actions.bad}
            aria-pressed={rating === 'bad'}
            onClick={() => setCommenting(true)}
          >
            <ThumbsDown size={16} fill={rating === 'bad' ? 'currentColor' : 'none'} />
          </IconButton>
        </>
      )}
      {last && message.status !== 'failed' && (
        <IconButton
          size="sm"
          label={texts.actions.regenerate}
          disabled={busy}
          onClick={() => {
            conversation.regenerate()
            focusComposer()
          }}
        >
          <RotateCcw size={16} />
        </IconButton>
      )}
      <time className={styles.time} dateTime={at} title={formatFull(at)}>
        {formatDate(at)}
      </time>
      {commenting && (
        <FeedbackDialog
          comment={message.feedback?.comment ?? ''}
          onClose={() => setCommenting(false)}
          onSend={(comment) => {
            setCommenting(false)
            void conversation.rate(message.id, 'bad', comment).then((done) => {
              if (done) toast(texts.feedback.thanks, { tone: 'success' })
            })
          }}
        />
      )}
    </div>
  )
}

function copy(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => toast(texts.actions.copied, { tone: 'success' }),
    () => toastFailure(texts.actions.copyFailed, () => copy(text)),
  )
}
