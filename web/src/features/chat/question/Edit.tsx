import { useAtom, useAtomValue } from 'jotai'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import type { Message, Skill } from '@/lib/api'
import { ime } from '@/lib/ui/ime'
import { useLazyPart } from '@/lib/ui/lazyPart'
import { isSend, useSendKey } from '@/lib/ui/sendKey'
import { AttachMenu } from '../composer/AttachMenu'
import type { Conversation } from '../conversation/conversation'
import { attachmentsAtom, clearAttachments, detach, detachPicture, ownPictures } from '../draft/attachments'
import { draftAtom, editKey } from '../draft/drafts'
import { maxLength } from '../draft/limits'
import { addPictures, cancelPictures, pictureUploads } from '../draft/pictures'
import { useUploads } from '../draft/questionFiles'
import { Pictures } from '../pictures/Pictures'
import { usePictureRefusal } from '../pictures/pictureSupport'
import { formPart } from '../start/formPart'
import { texts } from '../texts'
import styles from './Branches.module.css'

interface EditProps {
  readonly message: Message
  readonly skill: Skill
  readonly conversation: Conversation
  /** Called after canceling and after sending. */
  readonly onDone: () => void
}

/** Edit edits a sent question: its text, or its form with the values. */
export function Edit(props: EditProps) {
  const { message, skill, conversation, onDone } = props
  const form = message.form !== undefined && skill.form_type === 'form'
  const SkillForm = useLazyPart(formPart, form)
  const busy = useAtomValue(conversation.busyAtom)
  const key = editKey(message.id)
  const [, setDraft] = useAtom(draftAtom(key))
  const box = useRef<HTMLDivElement>(null)
  const ready = !form || SkillForm !== null
  useEffect(() => {
    if (!ready) return
    const field = box.current?.querySelector<HTMLInputElement | HTMLTextAreaElement>(
      'input, select, textarea',
    )
    field?.focus()
    if (field instanceof HTMLTextAreaElement) field.setSelectionRange(field.value.length, field.value.length)
  }, [ready])
  const cancel = () => {
    setDraft('')
    clearAttachments(key)
    cancelPictures(key)
    conversation.edit(null)
    onDone()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented || ime.isComposing(event)) return
    event.preventDefault()
    cancel()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Esc cancels for any focused descendant.
    <div ref={box} className={styles.edit} onKeyDown={onKeyDown}>
      {!form && <TextEdit {...props} draft={key} busy={busy} onCancel={cancel} />}
      {form && SkillForm && (
        <SkillForm
          skill={skill}
          conversation={conversation}
          disabled={busy}
          draft={key}
          initial={message.form ?? {}}
          onCancel={cancel}
          onAsk={(question) => {
            void conversation.ask(question, undefined, { edit: message.id })
            onDone()
          }}
        />
      )}
      <p className={styles.note}>{busy ? texts.edit.busy : texts.edit.note}</p>
    </div>
  )
}

function TextEdit({
  message,
  skill,
  conversation,
  onDone,
  draft,
  busy,
  onCancel,
}: EditProps & { readonly draft: string; readonly busy: boolean; readonly onCancel: () => void }) {
  const [kept, setKept] = useAtom(draftAtom(draft))
  const [text, setText] = useState(kept || message.content)
  const added = useAtomValue(attachmentsAtom(draft)).pictures
  const uploads = useUploads(pictureUploads, draft)
  const blind = usePictureRefusal(skill) ?? ''
  const own = ownPictures(message, draft)
  const pictures = [...own, ...added.filter(({ id }) => own.every((other) => other.id !== id))]
  const sendKey = useSendKey()
  const field = useRef<HTMLTextAreaElement>(null)
  const over = text.length > maxLength ? [...text].length - maxLength : 0
  const readable = pictures.length === 0 || blind === ''
  const ready = text.trim() !== '' && over <= 0 && !busy && uploads.length === 0 && readable

  const send = () => {
    if (!ready) return
    const onTaken = () => {
      setKept('')
      clearAttachments(draft)
    }
    const question = { kind: 'text', content: text.trim(), pictures, onTaken } as const
    void conversation.ask(question, undefined, { edit: message.id })
    onDone()
  }
  return (
    <>
      <Pictures
        pictures={pictures}
        uploads={uploads}
        onRemove={(picture) => {
          field.current?.focus()
          if (picture === undefined) return
          detachPicture(draft, picture.id)
          detach(draft, picture.id, true)
        }}
      />
      <textarea
        ref={field}
        className={styles.field}
        rows={3}
        aria-label={texts.edit.label}
        aria-invalid={over > 0 || undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setKept(event.target.value)
        }}
        onKeyDown={(event) => {
          if (!isSend(event, sendKey)) return
          event.preventDefault()
          send()
        }}
      />
      {over > 0 && (
        <p className={styles.over} role="status">
          {texts.composer.over(over, maxLength)}
        </p>
      )}
      {!readable && (
        <p className={styles.over} role="status">
          {texts.pictures.unread}
        </p>
      )}
      <div className={styles.buttons}>
        <AttachMenu
          label={texts.pictures.add}
          pictures={{ blind, onFiles: (files) => addPictures(draft, files, own.length) }}
        />
        <Button size="sm" onClick={onCancel}>
          {texts.cancel}
        </Button>
        <Button size="sm" variant="primary" disabled={!ready} onClick={send}>
          {texts.send}
        </Button>
      </div>
    </>
  )
}
