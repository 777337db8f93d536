import { useAtom, useAtomValue } from 'jotai'
import { ArrowUp, Square, X } from 'lucide-react'
import {
  type FormEvent,
  type KeyboardEvent,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
} from 'react'
import { IconButton } from '@/components/IconButton'
import type { Skill } from '@/lib/api'
import { focusComposer } from '@/lib/ui/composer'
import { cx } from '@/lib/ui/cx'
import { ime } from '@/lib/ui/ime'
import { useMedia } from '@/lib/ui/media'
import { isSend, sendKeys, useSendKey } from '@/lib/ui/sendKey'
import type { Conversation } from '../conversation/conversation'
import { isBusy, type Question } from '../conversation/conversationState'
import { askInBackground } from '../conversations'
import { attach, detach, detachPicture, setWaiting } from '../draft/attachments'
import { draftAtom, draftKey } from '../draft/drafts'
import { maxLength } from '../draft/limits'
import { type ComposedQuestion, sendWhenReady } from '../draft/pendingQuestion'
import { addPictures } from '../draft/pictures'
import { addFiles, addSources, takeQuestion, useQuestionFiles } from '../draft/questionFiles'
import { maxQueued, queueAtom } from '../draft/queue'
import { PictureButton } from '../pictures/PictureButton'
import { Pictures } from '../pictures/Pictures'
import { usePictureRefusal } from '../pictures/pictureSupport'
import { texts } from '../texts'
import { AttachMenu } from './AttachMenu'
import { Attachments } from './Attachments'
import styles from './Composer.module.css'
import { ComposerNote, countFrom } from './ComposerNote'
import { ModelMenu, ModelNote } from './ModelMenu'

interface ComposerProps {
  readonly skill: Skill
  readonly conversation: Conversation
  readonly writing?: boolean
  readonly stopping?: boolean
  /** Whether the composer takes the focus on devices with a keyboard. */
  readonly focused?: boolean
  readonly onAsk: (question: Question) => void
  /** Asks the question after the running answer. */
  readonly onAskLater?: (question: ComposedQuestion) => void
}

/** Composer is the input for a question. If the skill is unavailable, it shows the reason instead. */
export function Composer(props: ComposerProps) {
  const reason = props.skill.unavailable_reason
  if (reason && !props.writing) return <p className={styles.blocked}>{reason}</p>
  return <QuestionForm {...props} />
}

/**
 * QuestionForm is the form for a question. A user setting determines which key sends and which one inserts a line
 * break.
 */
function QuestionForm(props: ComposerProps) {
  const { skill, conversation, writing = false, stopping = false, focused = true } = props
  const { thread, turns } = conversation.state
  const key = draftKey(skill.id, thread?.id)
  const [text, setText] = useAtom(draftAtom(key))
  const sendKey = useSendKey()
  const field = useRef<HTMLTextAreaElement>(null)
  const noteId = useId()
  const length = text.length > countFrom ? [...text].length : text.length
  const question = useQuestion(props, key)
  const { files, busy, full } = question
  const blind = usePictureRefusal(skill) ?? ''
  const unread = blind !== '' && files.pictures.length > 0
  const ready = !unread && text.trim() !== '' && length <= maxLength && !full && files.readiness !== 'failed'
  const sendable = ready && !files.waiting && (!busy || thread !== null)

  // In the commit that replaces the composer of a new chat: otherwise keys pressed before the effect would be lost.
  useLayoutEffect(() => {
    if (focused) focusComposer()
  }, [focused])
  useGrow(field, text)

  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (sendable) question.send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (files.waiting && event.key === 'Escape' && !ime.isComposing(event)) {
      event.preventDefault()
      setWaiting(key, false)
    }
    if (!isSend(event, sendKey)) return
    event.preventDefault()
    if (sendable) question.send()
  }

  const touch = useMedia('(pointer: coarse), (max-width: 720px)')
  const words = turns.length > 0 ? texts.composer.next : firstWords(skill)
  const hint = touch ? words : texts.composer.withKeys(words, sendKeys(sendKey))
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <div className={cx(styles.box, length > maxLength && styles.over)}>
        <Attachments draft={key} files={files} />
        <Pictures
          pictures={files.pictures}
          uploads={files.pictureUploads}
          disabled={files.waiting}
          onRemove={({ id }) => detachPicture(key, id)}
        />
        <div className={styles.add}>
          {question.accepts && <Attach draft={key} conversation={conversation} files={files} />}
          <PictureButton
            blind={blind}
            disabled={files.waiting}
            onFiles={(added) => addPictures(key, added)}
          />
        </div>
        <textarea
          ref={field}
          className={styles.field}
          rows={1}
          data-composer={key}
          aria-label={texts.composer.label}
          aria-describedby={noteId}
          aria-invalid={length > maxLength || undefined}
          aria-keyshortcuts="/"
          placeholder={hint}
          enterKeyHint={sendKey === 'enter' ? 'send' : 'enter'}
          value={text}
          readOnly={files.waiting}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.buttons}>
          <ModelMenu skillId={skill.id} />
          {writing && <StopButton conversation={conversation} stopping={stopping} />}
          {files.waiting ? (
            // The keys separate the two elements. With a single element, the click that cancels would submit the form.
            <IconButton
              key="cancel"
              label={texts.files.cancel}
              side="top"
              onClick={() => {
                setWaiting(key, false)
                focusComposer()
              }}
            >
              <X size={18} />
            </IconButton>
          ) : (
            (!writing || ready) && (
              <IconButton
                key="send"
                className={styles.send}
                type="submit"
                label={busy ? texts.queue.later : texts.composer.send}
                shortcut={sendKeys(sendKey).send}
                side="top"
                disabled={!sendable}
              >
                <ArrowUp size={18} strokeWidth={2} />
              </IconButton>
            )
          )}
        </div>
      </div>
      <ModelNote skillId={skill.id} />
      <ComposerNote id={noteId} length={length} full={full} unread={unread} files={files} />
    </form>
  )
}

const nothing = { thread: null, turns: [] }

/** useQuestion returns the files of the question in a composer, and functions to send it. */
function useQuestion(
  { skill, conversation, writing = false, onAsk, onAskLater }: ComposerProps,
  key: string,
) {
  const { state } = conversation
  const accepts = skill.accepts_data_sources === true
  const files = useQuestionFiles(key, accepts ? state : nothing)
  // Also true for an answer that is running in another branch.
  const busy = writing || isBusy(state)
  // A thread that is still being created cannot have a queue.
  const queued = useAtomValue(queueAtom(state.thread?.id ?? '')).length

  const hand = (question: ComposedQuestion) => {
    // The queue may have been sent since the last rendering.
    if (isBusy(conversation.state)) onAskLater?.(question)
    else onAsk({ kind: 'text', ...question })
    focusComposer()
  }
  const send = () => {
    if (files.readiness === 'reading') {
      setWaiting(key, true)
      return
    }
    const question = takeQuestion(key, accepts ? conversation.state : nothing)
    if (question !== null) hand(question)
  }
  const onRead = useEffectEvent(hand)
  useEffect(() => {
    if (!files.waiting) return
    return sendWhenReady(key, conversation, onRead, (question) => askInBackground(conversation, question))
  }, [files.waiting, key, conversation])
  return { accepts, files, busy, full: busy && queued >= maxQueued, send }
}

/** Attach chooses or uploads files for the question. */
function Attach({
  draft,
  conversation,
  files: { files, waiting },
}: {
  draft: string
  conversation: Conversation
  files: ReturnType<typeof useQuestionFiles>
}) {
  const used = files.filter((file) => file.used)
  return (
    <AttachMenu
      disabled={waiting}
      chosen={new Set(used.map(({ id }) => id))}
      onFiles={(added) => addFiles(draft, conversation.state, added)}
      onChoose={(source) => {
        const file = files.find(({ id }) => id === source.id)
        if (file === undefined) addSources(draft, conversation.state, [source])
        else if (file.used) detach(draft, file.id, file.ofThread)
        else attach(draft, [file.id])
      }}
    />
  )
}

function StopButton({ conversation, stopping }: { conversation: Conversation; stopping: boolean }) {
  return (
    <IconButton
      className={styles.stop}
      label={texts.composer.stop}
      shortcut="Esc"
      side="top"
      aria-disabled={stopping || undefined}
      onClick={() => {
        void conversation.stop()
        focusComposer()
      }}
    >
      <Square size={14} fill="currentColor" />
    </IconButton>
  )
}

/** firstWords returns the placeholder for the first question to a skill. */
function firstWords({ kind, task_type }: Skill): string {
  const { placeholder, placeholders } = texts.composer
  return placeholders[task_type ?? ''] ?? placeholders[kind ?? ''] ?? placeholder
}

/** useGrow sets the field's height in browsers without `field-sizing`. */
function useGrow(field: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const element = field.current
    if (element === null || CSS.supports('field-sizing', 'content')) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [field, text])
}
