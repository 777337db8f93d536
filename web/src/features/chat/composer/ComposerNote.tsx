import { cx } from '@/lib/ui/cx'
import { maxLength } from '../draft/limits'
import type { QuestionFiles } from '../draft/questionFiles'
import { maxQueued } from '../draft/queue'
import { texts } from '../texts'
import styles from './Composer.module.css'
import { GuidanceNote } from './GuidanceNote'

/** The length above which the remaining characters are shown. */
export const countFrom = 28_000

/** ComposerNote is the line below a composer. It shows why the question cannot be sent, or the remaining characters. */
export function ComposerNote({
  id,
  length,
  full,
  unread,
  files,
}: {
  id: string
  length: number
  full: boolean
  /** Whether the model cannot read the question's pictures. */
  unread: boolean
  files: QuestionFiles
}) {
  return (
    <div className={styles.note} id={id}>
      {full ? (
        <span role="status">{texts.queue.full(maxQueued)}</span>
      ) : unread ? (
        <span className={styles.tooLong} role="status">
          {texts.pictures.unread}
        </span>
      ) : files.waiting ? (
        <span role="status">
          {files.readiness === 'ready'
            ? texts.queue.waits
            : files.pictureUploads.length > 0
              ? texts.pictures.waits
              : texts.files.waits}
        </span>
      ) : files.readiness === 'failed' ? (
        <span className={styles.tooLong} role="status">
          {files.pictureUploads.some(({ state }) => state === 'failed')
            ? texts.pictures.failed
            : texts.files.failed}
        </span>
      ) : (
        <Counter length={length} />
      )}
    </div>
  )
}

function Counter({ length }: { length: number }) {
  if (length <= countFrom)
    return (
      <>
        <span>{texts.composer.note}</span>
        <GuidanceNote />
      </>
    )
  const left = maxLength - length
  return (
    <span className={cx(left < 0 && styles.tooLong)} role="status">
      {left < 0 ? texts.composer.over(-left, maxLength) : texts.composer.remaining(left)}
    </span>
  )
}
