import { useAtomValue } from 'jotai'
import { LayoutGrid, X } from 'lucide-react'
import {
  type FormEvent,
  type KeyboardEvent,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
} from 'react'
import { useNavigate } from 'react-router'
import { ComposerBox, ComposerTool, SendButton, StopButton } from '@/components/ComposerBox'
import { IconButton } from '@/components/IconButton'
import type { Skill } from '@/lib/api'
import { focusComposer, thenFocusComposer } from '@/lib/ui/composer'
import { ime } from '@/lib/ui/ime'
import { isSend, sendKeys, useSendKey } from '@/lib/ui/sendKey'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import { isBusy, type Question, type QuestionContent } from '../conversation/conversationState'
import { askInBackground } from '../conversations'
import { attach, detach, detachPicture, setWaiting } from '../draft/attachments'
import { draftAtom, draftKey, moveDraftToOtherSkill } from '../draft/drafts'
import { maxLength } from '../draft/limits'
import { sendWhenReady } from '../draft/pendingQuestion'
import { addPictures } from '../draft/pictures'
import {
  addFiles,
  addSources,
  type QuestionFiles,
  takeQuestion,
  useQuestionFiles,
} from '../draft/questionFiles'
import { maxQueued, queueAtom } from '../draft/queue'
import { Pictures } from '../pictures/Pictures'
import { usePictureRefusal } from '../pictures/pictureSupport'
import { texts } from '../texts'
import { AttachMenu } from './AttachMenu'
import { Attachments } from './Attachments'
import styles from './Composer.module.css'
import { ComposerNote, countFrom } from './ComposerNote'
import { DictationButton } from './DictationButton'
import { ModelMenu, ModelNote } from './ModelMenu'
import { useSkillPicker } from './SkillPicker'

interface ComposerProps {
  readonly skill: Skill
  readonly conversation: Conversation
  readonly writing?: boolean
  readonly stopping?: boolean
  /** Whether the composer takes the focus on devices with a keyboard. */
  readonly focused?: boolean
  /** Whether the question can be asked with another skill. */
  readonly offersSkills?: boolean
  /** Asks a question while no answer is running. */
  readonly onAsk: (question: Question) => void
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
  const {
    skill,
    conversation,
    writing = false,
    stopping = false,
    focused = true,
    offersSkills = true,
  } = props
  const { thread, turns } = conversation.state
  const key = draftKey(skill.id, thread?.id)
  const text = useAtomValue(draftAtom(key))
  const setText = (value: string) => {
    // The thread may have been created since the last rendering.
    store.set(draftAtom(draftKey(skill.id, conversation.state.thread?.id)), value)
  }
  const sendKey = useSendKey()
  const form = useRef<HTMLFormElement>(null)
  const navigate = useNavigate()
  const noteId = useId()
  const length = text.length > countFrom ? [...text].length : text.length
  const question = useQuestion(props, key)
  const { files, busy, full } = question
  const blind = usePictureRefusal(skill) ?? ''
  const unread = blind !== '' && files.pictures.length > 0
  const ready = !unread && text.trim() !== '' && length <= maxLength && !full && files.readiness !== 'failed'
  const sendable = ready && !files.waiting

  // In the commit that replaces the composer of a new chat: otherwise keys pressed before the effect would be lost.
  useLayoutEffect(() => {
    if (focused) focusComposer()
  }, [focused])

  const chooseSkill = (chosen: Skill) => {
    if (chosen.id === skill.id && thread === null) return
    moveDraftToOtherSkill(key, chosen)
    void navigate(`/home/skill/${chosen.id}`)
  }
  const note = turns.length > 0 ? texts.skills.begins : undefined
  const picker = useSkillPicker({ text, onText: setText, note, onChoose: chooseSkill })

  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (sendable) question.send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (picker.onKeyDown(event)) return
    if (files.waiting && event.key === 'Escape' && !ime.isComposing(event)) {
      event.preventDefault()
      setWaiting(key, false)
    }
    if (!isSend(event, sendKey)) return
    event.preventDefault()
    if (sendable) question.send()
  }

  return (
    <form className={styles.form} ref={form} onSubmit={onSubmit}>
      <ComposerBox
        {...(offersSkills && picker.field)}
        over={length > maxLength}
        data-composer={key}
        aria-label={texts.composer.label}
        aria-describedby={noteId}
        aria-keyshortcuts="/"
        placeholder={turns.length > 0 ? texts.composer.next : firstWords(skill)}
        enterKeyHint={sendKey === 'enter' ? 'send' : 'enter'}
        value={text}
        readOnly={files.waiting}
        onChange={(event) => {
          if (offersSkills) picker.field.onChange(event)
          setText(event.target.value)
        }}
        onKeyDown={onKeyDown}
        attachments={
          <>
            <Attachments draft={key} files={files} />
            <Pictures
              pictures={files.pictures}
              uploads={files.pictureUploads}
              disabled={files.waiting}
              onRemove={(picture) => {
                if (picture) detachPicture(key, picture.id)
                focusComposer()
              }}
            />
          </>
        }
        tools={
          <>
            <Attach
              draft={key}
              conversation={conversation}
              files={files}
              accepts={question.accepts}
              blind={blind}
            />
            {offersSkills && (
              <ComposerTool
                icon={<LayoutGrid size={16} aria-hidden />}
                aria-label={texts.skills.choose}
                aria-expanded={picker.open}
                data-tip="top"
                data-tip-keys="@"
                disabled={files.waiting}
                onMouseDown={(event) => event.preventDefault()} // The focus stays in the field.
                onClick={({ currentTarget }) =>
                  picker.toggle(form.current?.querySelector('textarea') ?? null, currentTarget)
                }
              >
                {texts.skills.button}
              </ComposerTool>
            )}
            <DictationButton draft={key} disabled={files.waiting} />
          </>
        }
        actions={
          <>
            <ModelMenu skillId={skill.id} />
            {writing && (
              <StopButton
                label={texts.composer.stop}
                shortcut="Esc"
                aria-disabled={stopping || undefined}
                onClick={thenFocusComposer(() => void conversation.stop())}
              />
            )}
            {files.waiting ? (
              // The keys separate the two elements. With a single element, the click that cancels would submit the form.
              <IconButton
                key="cancel"
                label={texts.files.cancel}
                side="top"
                onClick={thenFocusComposer(() => setWaiting(key, false))}
              >
                <X size={18} />
              </IconButton>
            ) : (
              (!writing || ready) && (
                <SendButton
                  key="send"
                  label={busy ? texts.queue.later : texts.send}
                  shortcut={texts.composer.keys(sendKeys(sendKey))}
                  disabled={!sendable}
                />
              )
            )}
          </>
        }
      />
      {offersSkills && picker.list}
      <ModelNote skillId={skill.id} />
      <ComposerNote id={noteId} length={length} full={full} unread={unread} files={files} />
    </form>
  )
}

const nothing = { thread: null, turns: [] }

/** useQuestion returns the files of the question in a composer, and functions to send it. */
function useQuestion({ skill, conversation, writing = false, onAsk }: ComposerProps, key: string) {
  const { state } = conversation
  const accepts = skill.accepts_data_sources === true
  const files = useQuestionFiles(key, accepts ? state : nothing)
  // Also true for an answer that is running in another branch.
  const busy = writing || isBusy(state)
  // A thread that is still being created cannot have a queue. The question waits in the composer instead.
  const creating = busy && state.thread === null
  const queued = useAtomValue(queueAtom(state.thread?.id ?? '')).length

  const hand = (question: QuestionContent) => {
    // The queue may have been sent since the last rendering.
    if (isBusy(conversation.state)) askInBackground(conversation, question)
    else onAsk({ kind: 'text', ...question })
    focusComposer()
  }
  const send = () => {
    if (creating || files.readiness === 'reading') {
      setWaiting(key, true)
      return
    }
    const question = takeQuestion(key, accepts ? conversation.state : nothing)
    if (question !== null) hand(question)
  }
  const onRead = useEffectEvent(hand)
  useEffect(() => {
    if (!files.waiting) return
    // If the creation fails or the composer leaves the screen, the user must decide again.
    if (creating) return () => setWaiting(key, false)
    return sendWhenReady(key, conversation, onRead, (question) => askInBackground(conversation, question))
  }, [files.waiting, creating, key, conversation])
  return { accepts, files, busy, full: busy && queued >= maxQueued, send }
}

/** Attach adds files and pictures to the question. */
function Attach({
  draft,
  conversation,
  files: { files, waiting },
  accepts,
  blind,
}: {
  draft: string
  conversation: Conversation
  files: QuestionFiles
  /** Whether the question can have files. */
  accepts: boolean
  /** The reason why the question cannot have pictures; '' if it can. */
  blind: string
}) {
  const used = files.filter((file) => file.used)
  const label = accepts ? texts.files.add : texts.pictures.add
  return (
    <AttachMenu
      label={label}
      disabled={waiting}
      files={
        accepts
          ? {
              chosen: new Set(used.map(({ id }) => id)),
              onFiles: (added) => addFiles(draft, conversation.state, added),
              onChoose: (source) => {
                const file = files.find(({ id }) => id === source.id)
                if (file === undefined) addSources(draft, conversation.state, [source])
                else if (file.used) detach(draft, file.id, file.ofThread)
                else attach(draft, [file.id])
              },
            }
          : undefined
      }
      pictures={{ blind, onFiles: (added) => addPictures(draft, added) }}
    />
  )
}

/** firstWords returns the placeholder for the first question to a skill. */
function firstWords({ kind, task_type }: Skill): string {
  const { placeholder, placeholders } = texts.composer
  return placeholders[task_type ?? ''] ?? placeholders[kind ?? ''] ?? placeholder
}
