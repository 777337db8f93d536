import { useId, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import styles from './Chat.module.css'
import { texts } from './texts'

/** The most characters of a comment. */
const maxComment = 2000

/** Asks what was wrong with an answer. The comment may be left out. */
export function FeedbackDialog({
  comment,
  onSend,
  onWithdraw,
  onClose,
}: {
  comment: string
  onSend: (comment: string) => void
  /** Given where the answer is rated so already. */
  onWithdraw: (() => void) | undefined
  onClose: () => void
}) {
  const id = useId()
  const [text, setText] = useState(comment)
  return (
    <Dialog
      title={texts.feedback.title}
      onClose={onClose}
      actions={
        <>
          {onWithdraw && (
            <Button variant="quiet" onClick={onWithdraw}>
              {texts.feedback.withdraw}
            </Button>
          )}
          <Button variant="quiet" onClick={onClose}>
            {texts.feedback.cancel}
          </Button>
          <Button variant="primary" type="submit" form={id}>
            {texts.feedback.send}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className={styles.comment}
        onSubmit={(event) => {
          event.preventDefault()
          onSend(text.trim())
        }}
      >
        <TextArea
          label={texts.feedback.label}
          optional
          hint={texts.feedback.hint}
          placeholder={texts.feedback.placeholder}
          value={text}
          maxLength={maxComment}
          rows={4}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
    </Dialog>
  )
}
