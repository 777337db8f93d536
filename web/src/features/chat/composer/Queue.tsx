import { useAtomValue } from 'jotai'
import { Pencil, X } from 'lucide-react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { focusComposer, thenFocusComposer } from '@/lib/ui/composer'
import type { Conversation } from '../conversation/conversation'
import { isBusy } from '../conversation/conversationState'
import { sendQueued } from '../conversations'
import { restoreAttachments } from '../draft/attachments'
import { draftKey, restoreDraft } from '../draft/drafts'
import { dequeue, type Queued, queueAtom } from '../draft/queue'
import { isLastAnswerComplete, isOnBranch } from '../draft/queueSender'
import { texts } from '../texts'
import styles from './Queue.module.css'

/** Queue lists the queued questions above the composer. */
export function Queue({ conversation, threadId }: { conversation: Conversation; threadId: string }) {
  const { turns } = conversation.state
  // A question that is being sent is shown among the turns.
  const items = useAtomValue(queueAtom(threadId)).filter(
    ({ id }) => !turns.some((turn) => turn.message.id === `question:${id}`),
  )
  const first = items[0]
  if (first === undefined) return null
  const here = isOnBranch(conversation, first)
  const held = !isBusy(conversation.state) && (first.failed || !here || !isLastAnswerComplete(conversation))
  const words = here ? texts.queue.held : texts.queue.elsewhere
  const status = held ? words : texts.queue.waits

  const edit = (item: Queued) => {
    const key = draftKey(conversation.skillId, threadId)
    restoreAttachments(key, item)
    restoreDraft(key, item.content)
    dequeue(threadId, item.id)
    // A retry would send the question in addition to the one in the composer.
    conversation.dismissFailure()
    document.querySelector<HTMLElement>('[data-composer]')?.focus()
  }
  const remove = ({ id }: Queued) => {
    dequeue(threadId, id)
    conversation.dismissFailure()
    focusComposer()
  }
  return (
    <section className={styles.queue} aria-label={texts.queue.label}>
      <div className={styles.head}>
        <p role="status">{first.failed ? texts.queue.failed : status}</p>
        {held && (
          <Button size="sm" onClick={thenFocusComposer(() => sendQueued(conversation))}>
            {texts.queue.send}
          </Button>
        )}
      </div>
      <ol className={styles.list}>
        {items.map((item) => (
          <li key={item.id}>
            <span className={styles.text}>
              {item.content}
              {item.pictures && <small> {texts.pictures.count(item.pictures.length)}</small>}
            </span>
            <IconButton size="sm" side="top" label={texts.queue.edit} onClick={() => edit(item)}>
              <Pencil size={15} />
            </IconButton>
            <IconButton size="sm" side="top" label={texts.queue.remove} onClick={() => remove(item)}>
              <X size={16} />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  )
}
