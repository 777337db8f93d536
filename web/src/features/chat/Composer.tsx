import { useAtom, useAtomValue } from 'jotai'
import { ArrowUp, Square } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef } from 'react'
import { IconButton } from '@/components/IconButton'
import type { Skill } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { useMedia } from '@/lib/ui/media'
import { isSend, sendKeys, useSendKey } from '@/lib/ui/sendKey'
import styles from './Composer.module.css'
import type { Conversation } from './conversation'
import { isBusy, type Question } from './conversationState'
import { draftAtom, draftKey } from './drafts'
import { maxLength } from './limits'
import { maxQueued, queueAtom } from './queue'
import { texts } from './texts'

/** From how many characters on they are counted down. */
const countFrom = 28_000

interface ComposerProps {
  readonly skill: Skill
  readonly conversation: Conversation
  readonly writing?: boolean
  readonly stopping?: boolean
  /** Whether it takes the focus where there is a keyboard. */
  readonly focused?: boolean
  readonly onAsk: (question: Question) => void
  /** Asks when the answer that is being written is over. */
  readonly onAskLater?: (content: string) => void
}

/** Where a question is typed. What sends it and what breaks the line is for the user to choose. */
export function Composer({
  skill,
  conversation,
  writing = false,
  stopping = false,
  focused = true,
  onAsk,
  onAskLater,
}: ComposerProps) {
  const { thread, turns } = conversation.state
  // It is also another branch in which an answer is being written.
  const busy = writing || isBusy(conversation.state)
  const key = draftKey(skill.id, thread?.id)
  const [text, setText] = useAtom(draftAtom(key))
  const sendKey = useSendKey()
  const field = useRef<HTMLTextAreaElement>(null)
  const noteId = useId()
  const length = text.length > countFrom ? [...text].length : text.length
  const blocked = skill.unavailable_reason !== undefined && skill.unavailable_reason !== ''
  // A thread that is still being made has no place for what waits.
  const queued = useAtomValue(queueAtom(thread?.id ?? '')).length
  const full = busy && queued >= maxQueued
  const ready = text.trim() !== '' && length <= maxLength && !blocked && !full && (!busy || thread !== null)

  useEffect(() => {
    if (focused) focusComposer()
  }, [focused])
  useGrow(field, text)

  const send = () => {
    if (!ready) return
    const content = text.trim()
    // What waited may have gone out since this was drawn.
    if (isBusy(conversation.state)) onAskLater?.(content)
    else onAsk({ kind: 'text', content })
    setText('')
    focusComposer()
  }
  const stop = () => {
    void conversation.stop()
    focusComposer()
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isSend(event, sendKey)) return
    event.preventDefault()
    send()
  }

  const touch = useMedia('(pointer: coarse), (max-width: 720px)')
  const words = turns.length > 0 ? texts.composer.next : firstWords(skill)
  const hint = touch ? words : texts.composer.withKeys(words, sendKeys(sendKey))
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      {blocked && (
        <p className={styles.blocked} id={noteId}>
          {skill.unavailable_reason || texts.unavailable}
        </p>
      )}
      <div className={cx(styles.box, length > maxLength && styles.over)}>
        <textarea
          ref={field}
          className={styles.field}
          rows={1}
          data-composer={key}
          aria-label={texts.composer.label}
          aria-describedby={noteId}
          aria-invalid={length > maxLength || undefined}
          aria-keyshortcuts="/"
          placeholder={blocked ? texts.composer.blocked : hint}
          enterKeyHint={sendKey === 'enter' ? 'send' : 'enter'}
          value={text}
          disabled={blocked}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.buttons}>
          {writing && (
            <IconButton
              className={styles.stop}
              label={texts.composer.stop}
              shortcut="Esc"
              side="top"
              aria-disabled={stopping || undefined}
              onClick={stop}
            >
              <Square size={14} fill="currentColor" />
            </IconButton>
          )}
          {(!writing || ready) && (
            <IconButton
              className={styles.send}
              type="submit"
              label={busy ? texts.queue.later : texts.composer.send}
              shortcut={sendKeys(sendKey).send}
              side="top"
              disabled={!ready}
            >
              <ArrowUp size={18} strokeWidth={2} />
            </IconButton>
          )}
        </div>
      </div>
      {!blocked && (
        <div className={styles.note} id={noteId}>
          {full ? <span role="status">{texts.queue.full(maxQueued)}</span> : <Counter length={length} />}
        </div>
      )}
    </form>
  )
}

/** What a first question is made of, as the skill would have it. */
function firstWords({ kind, task_type }: Skill): string {
  const { placeholder, placeholders } = texts.composer
  return placeholders[task_type ?? ''] ?? placeholders[kind ?? ''] ?? placeholder
}

function Counter({ length }: { length: number }) {
  if (length <= countFrom) return <span>{texts.composer.note}</span>
  const left = maxLength - length
  return (
    <span className={cx(left < 0 && styles.tooLong)} role="status">
      {left < 0 ? texts.composer.over(-left, maxLength) : texts.composer.remaining(left)}
    </span>
  )
}

/**
 * A keyboard goes straight to the composer, also from a button that goes away when it is pressed; on a phone that would
 * raise the keyboard over the page.
 */
export function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return
  document.querySelector<HTMLElement>('[data-composer]')?.focus({ preventScroll: true })
}

/** Where the browser does not size a field by its content, the field's height is set to it. */
function useGrow(field: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const element = field.current
    if (element === null || CSS.supports('field-sizing', 'content')) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [field, text])
}
