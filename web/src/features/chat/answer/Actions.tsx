import { useAtomValue } from 'jotai'
import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { useState } from 'react'
import { CopyIconButton } from '@/components/CopyButton'
import { IconButton } from '@/components/IconButton'
import type { Message } from '@/lib/api'
import { copyRich } from '@/lib/browser/clipboard'
import { markdownToHtml } from '@/lib/markdown'
import { formatDate, formatFull } from '@/lib/ui/dates'
import { toast } from '@/lib/ui/toast'
import { sourceLines } from '../citations/citations'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Answer.module.css'
import { FeedbackDialog } from './FeedbackDialog'
import { More, StopReading } from './More'
import { Regenerate, WrittenBy } from './Regenerate'

/** Actions shows the actions on a finished answer and its time. */
export function Actions({
  message,
  conversation,
  closed,
}: {
  message: Message
  conversation: Conversation
  /** Whether the skill accepts no more questions. */
  closed: boolean
}) {
  const busy = useAtomValue(conversation.busyAtom)
  const [commenting, setCommenting] = useState(false)
  const rating = message.feedback?.rating
  const at = message.completed_at ?? message.created_at
  return (
    <div className={styles.actions} role="group" aria-label={texts.actions.label} data-print="hide">
      {message.content !== '' && (
        <>
          {/* For a proofread text, copy the corrected text instead of the report. */}
          {!message.proofread && (
            <CopyIconButton label={texts.actions.copy} copy={() => copyMarkdown(withSources(message))} />
          )}
          <IconButton
            size="sm"
            label={texts.actions.good}
            aria-pressed={rating === 'good'}
            onClick={() => void conversation.rate(message.id, rating === 'good' ? null : 'good')}
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
      {message.status !== 'failed' && !closed && (
        <Regenerate conversation={conversation} messageId={message.id} disabled={busy} />
      )}
      {message.content !== '' && <More message={message} conversation={conversation} />}
      <StopReading messageId={message.id} />
      <time className={styles.time} dateTime={at} title={formatFull(at)}>
        {formatDate(at)}
      </time>
      <WrittenBy message={message} skillId={conversation.skillId} />
      {commenting && (
        <FeedbackDialog
          comment={message.feedback?.comment ?? ''}
          withText={message.feedback?.with_text ?? false}
          onWithdraw={
            rating === 'bad'
              ? () => {
                  setCommenting(false)
                  void conversation.rate(message.id, null)
                }
              : undefined
          }
          onClose={() => setCommenting(false)}
          onSend={(comment, withText) => {
            setCommenting(false)
            void conversation.rate(message.id, 'bad', comment, withText).then((done) => {
              if (done) toast(texts.feedback.thanks, { tone: 'success' })
            })
          }}
        />
      )}
    </div>
  )
}

/** withSources returns an answer with the list of its cited sources. */
function withSources(message: Message): string {
  const lines = sourceLines(message)
  return lines.length === 0
    ? message.content
    : [message.content, texts.sources, lines.join('\n')].join('\n\n')
}

function copyMarkdown(text: string): Promise<void> {
  return copyRich(text, markdownToHtml(text))
}
