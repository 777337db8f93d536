import { useAtomValue } from 'jotai'
import { useEffect } from 'react'
import { markThreadShown } from '@/entities/thread/threads'
import type { Skill } from '@/lib/api'
import { ime } from '@/lib/ui/ime'
import { DropTarget } from '../composer/DropTarget'
import type { Conversation } from '../conversation/conversation'
import { isWriting } from '../conversation/turns'
import { Temporary } from '../notices/Temporary'
import { NewThreadNote } from '../project/NewThreadNote'
import { texts } from '../texts'
import styles from './Chat.module.css'
import { ChatBody } from './ChatBody'
import { ChatHead } from './ChatHead'
import { useAutoScroll } from './useAutoScroll'
import { useReveal } from './useReveal'

interface ChatProps {
  readonly skill: Skill
  readonly conversation: Conversation
  /** The title of the thread, if one exists. */
  readonly title?: string
}

/** Chat shows a thread, or the start of a new one. */
export function Chat({ skill, conversation, title }: ChatProps) {
  const { thread, turns, editing } = useAtomValue(conversation.stateAtom)
  const scroll = useAutoScroll(turns[0]?.key)
  useReveal(conversation, turns, scroll.content, scroll.toItem)
  useStopKey(conversation, isWriting(turns.at(-1)))
  const empty = turns.length === 0
  const form = empty && skill.form_type === 'form'
  const edited = turns.find(({ message }) => message.id === editing)?.message
  const threadId = thread?.id
  useEffect(() => (threadId === undefined ? undefined : markThreadShown(threadId)), [threadId])

  return (
    <DropTarget
      className={styles.chat}
      skill={skill}
      conversation={conversation}
      edited={edited}
      // A form takes its files itself.
      disabled={
        form || thread?.can_ask === false || (skill.form_type === 'form' && edited?.form !== undefined)
      }
    >
      {!empty && <ChatHead skill={skill} conversation={conversation} title={title ?? texts.untitled} />}
      <Temporary conversation={conversation} />
      <NewThreadNote conversation={conversation} />
      <ChatBody skill={skill} conversation={conversation} scroll={scroll} />
    </DropTarget>
  )
}

/** useStopKey stops the answer on Esc, unless a dialog or a menu is open. */
function useStopKey(conversation: Conversation, writing: boolean): void {
  useEffect(() => {
    if (!writing) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || ime.isComposing(event)) return
      if (document.querySelector('dialog[open], [role="menu"]')) return
      void conversation.stop()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [conversation, writing])
}
