import { type FormEvent, type KeyboardEvent, type ReactNode, useRef } from 'react'
import { ComposerBox, SendButton, StopButton } from '@/components/ComposerBox'
import { isEnter } from '@/lib/ui/ime'
import { lengthOf, maxQuestion } from '../lib/limits'
import { t } from '../lib/texts'
import { setDraft, useDraft } from './drafts'
import styles from './Panel.module.css'

interface AskProps {
  readonly tabId: number
  readonly placeholder: string
  /** Asks the question, and deletes the draft of the tab when the question is sent to the server. */
  readonly onAsk: (question: string) => void
  readonly writing?: boolean
  /** Whether no question can be sent now. It can be typed. */
  readonly disabled?: boolean
  readonly onStop?: () => void
  /** The elements below the text, at its start. */
  readonly tools?: ReactNode
}

/** The input for a question. Enter sends, except at the end of a conversion. */
export function Ask({
  tabId,
  placeholder,
  onAsk,
  writing = false,
  disabled = false,
  onStop,
  tools,
}: AskProps) {
  const text = useDraft(tabId)
  const form = useRef<HTMLFormElement>(null)
  const tooLong = lengthOf(text) > maxQuestion
  const ready = text.trim() !== '' && !tooLong && !writing && !disabled
  const send = () => {
    if (!ready) return
    onAsk(text.trim())
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const stop = () => {
    onStop?.()
    // The button disappears.
    form.current?.querySelector('textarea')?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isEnter(event)) return
    event.preventDefault()
    send()
  }
  return (
    <form ref={form} className={styles.ask} onSubmit={onSubmit}>
      {tooLong && <p className={styles.error}>{t('tooLong', maxQuestion)}</p>}
      <ComposerBox
        over={tooLong}
        aria-label={t('askLabel')}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setDraft(tabId, event.target.value)}
        onKeyDown={onKeyDown}
        tools={tools}
        actions={
          writing ? (
            <StopButton label={t('stop')} onClick={stop} />
          ) : (
            <SendButton label={t('send')} shortcut="Enter" disabled={!ready} />
          )
        }
      />
    </form>
  )
}
