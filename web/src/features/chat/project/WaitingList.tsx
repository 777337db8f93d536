import { useQuery } from '@tanstack/react-query'
import { useAtomValue } from 'jotai'
import { X } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import { errorMessage } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { focusComposer } from '@/lib/ui/composer'
import { toastFailure } from '@/lib/ui/toast'
import styles from '../composer/Queue.module.css'
import { texts } from '../texts'
import { cancelWaiting, waitingAtom } from './waiting'

const words = texts.project.waiting

/** WaitingList lists the questions of all members that wait in a shared thread. */
export function WaitingList({ threadId }: { threadId: string }) {
  const questions = useAtomValue(waitingAtom(threadId))
  const { data: me } = useQuery(meQuery)
  if (questions.length === 0) return null
  const cancel = (id: string) => {
    cancelWaiting(threadId, id).catch((cause) => toastFailure(words.failed(errorMessage(cause))))
    focusComposer()
  }
  return (
    <section className={styles.queue} aria-label={words.label}>
      <div className={styles.head}>
        <p role="status">{words.count(questions.length)}</p>
      </div>
      <ol className={styles.list}>
        {questions.map(({ id, author, content }) => (
          <li key={id}>
            <span className={styles.text}>
              {author?.id !== me?.id && <small>{texts.project.author(author?.name)} </small>}
              {content}
            </span>
            {author?.id === me?.id && (
              <IconButton size="sm" side="top" label={words.cancel} onClick={() => cancel(id)}>
                <X size={16} />
              </IconButton>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
