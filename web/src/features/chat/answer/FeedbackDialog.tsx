import { useId, useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import { texts } from '../texts'
import styles from './Answer.module.css'

/** The maximum length of a comment, in characters. */
const maxComment = 2000

/** FeedbackDialog asks what was wrong with an answer. The comment is optional. */
export function FeedbackDialog({
  comment,
  withText,
  onSend,
  onWithdraw,
  onClose,
}: {
  comment: string
  /** Whether administrators receive the question and the answer. */
  withText: boolean
  onSend: (comment: string, withText: boolean) => void
  /** Defined if the answer already has this rating. */
  onWithdraw: (() => void) | undefined
  onClose: () => void
}) {
  const id = useId()
  const [text, setText] = useState(comment)
  const [sending, setSending] = useState(withText)
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
            {texts.cancel}
          </Button>
          <Button variant="primary" type="submit" form={id}>
            {texts.send}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className={styles.comment}
        onSubmit={(event) => {
          event.preventDefault()
          onSend(text.trim(), sending)
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
        <Choice
          label={texts.feedback.withText}
          hint={texts.feedback.withTextHint}
          checked={sending}
          onChange={setSending}
        />
        <p className={styles.commentNote}>{texts.feedback.withdrawable}</p>
      </form>
    </Dialog>
  )
}
