import { ArrowUp, Square } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { IconButton } from '@/components/IconButton'
import { isEnter } from '@/lib/ui/ime'
import { lengthOf, maxQuestion } from '../lib/limits'
import { t } from '../lib/texts'
import styles from './Panel.module.css'

interface AskProps {
  readonly placeholder: string
  readonly onAsk: (question: string) => void
  readonly writing?: boolean
  readonly disabled?: boolean
  readonly onStop?: () => void
}

/** The input for a question. Enter sends, except at the end of a conversion. */
export function Ask({ placeholder, onAsk, writing = false, disabled = false, onStop }: AskProps) {
  const [text, setText] = useState('')
  const tooLong = lengthOf(text) > maxQuestion
  const ready = text.trim() !== '' && !tooLong && !writing && !disabled
  const send = () => {
    if (!ready) return
    onAsk(text.trim())
    setText('')
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isEnter(event)) return
    event.preventDefault()
    send()
  }
  return (
    <form className={styles.ask} onSubmit={onSubmit}>
      {tooLong && <p className={styles.error}>{t('tooLong', maxQuestion)}</p>}
      <div className={styles.box}>
        <textarea
          rows={1}
          aria-label={t('askLabel')}
          aria-invalid={tooLong || undefined}
          placeholder={placeholder}
          value={text}
          disabled={disabled}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {writing ? (
          <IconButton className={styles.stop} label={t('stop')} onClick={onStop}>
            <Square size={14} fill="currentColor" />
          </IconButton>
        ) : (
          <IconButton className={styles.send} type="submit" label={t('send')} disabled={!ready}>
            <ArrowUp size={18} strokeWidth={2} />
          </IconButton>
        )}
      </div>
    </form>
  )
}
