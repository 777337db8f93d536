import { useAtomValue } from 'jotai'
import { ArrowDown } from 'lucide-react'
import { useCallback, useEffect } from 'react'
import { Button } from '@/components/Button'
import { markThreadShown } from '@/entities/thread/threads'
import type { Skill } from '@/lib/api'
import { whenIdle } from '@/lib/browser/idle'
import { loadFormulaStyles, preloadMarkdown } from '@/lib/markdown'
import { focusComposer } from '@/lib/ui/composer'
import { cx } from '@/lib/ui/cx'
import { ime } from '@/lib/ui/ime'
import { Announcer } from './Announcer'
import { Busy } from './Busy'
import styles from './Chat.module.css'
import { ChatHead } from './ChatHead'
import { Composer } from './Composer'
import { CostDialog } from './CostDialog'
import type { Conversation } from './conversation'
import type { Question } from './conversationState'
import { enqueueQuestion } from './conversations'
import { DropTarget } from './DropTarget'
import { Failure } from './Failure'
import { OtherBranchNotice } from './OtherBranchNotice'
import { Queue } from './Queue'
import { Start } from './Start'
import { Temporary } from './Temporary'
import { Turns } from './Turns'
import { texts } from './texts'
import { isWriting } from './turns'
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
  const {
    thread,
    turns,
    failure,
    costly,
    stopping,
    otherBranch: elsewhere,
  } = useAtomValue(conversation.stateAtom)
  const { scroller, content, away, toEnd, toItem } = useAutoScroll(turns[0]?.key)
  useReveal(conversation, turns, content, toItem)
  const writing = isWriting(turns.at(-1))
  const empty = turns.length === 0
  const form = empty && skill.form_type === 'form'

  const ask = useCallback(
    (question: Question) => {
      // The answer does not have to wait for the renderer, which usually loads first.
      preloadMarkdown().catch(() => {})
      whenIdle(() => void loadFormulaStyles().catch(() => {}))
      void conversation.ask(question)
      requestAnimationFrame(() => toEnd())
    },
    [conversation, toEnd],
  )
  useStopKey(conversation, writing)
  const threadId = thread?.id
  useEffect(() => (threadId === undefined ? undefined : markThreadShown(threadId)), [threadId])

  return (
    <DropTarget className={styles.chat} skill={skill} conversation={conversation} disabled={form}>
      {!empty && <ChatHead skill={skill} conversation={conversation} title={title ?? texts.untitled} />}
      <Temporary conversation={conversation} />
      <div className={styles.scroller} ref={scroller} data-scroller>
        <div className={cx(styles.content, empty && styles.empty)} ref={content}>
          {empty ? (
            <Start skill={skill} conversation={conversation} onAsk={ask} />
          ) : (
            <Turns skill={skill} conversation={conversation} scroller={scroller} />
          )}
        </div>
      </div>
      <div className={styles.foot} data-print="hide">
        {away && (
          <Button
            className={styles.toEnd}
            size="sm"
            onClick={() => {
              toEnd(true)
              focusComposer()
            }}
          >
            <ArrowDown size={14} aria-hidden />
            {texts.toEnd}
          </Button>
        )}
        <Busy turn={turns.at(-1)} />
        {elsewhere && <OtherBranchNotice place={elsewhere} conversation={conversation} />}
        {failure && <Failure failure={failure} onDismiss={() => conversation.dismissFailure()} />}
        {costly && <CostDialog costly={costly} onDecline={() => conversation.declineCost()} />}
        {threadId && <Queue conversation={conversation} threadId={threadId} />}
        {!form && (
          <Composer
            skill={skill}
            conversation={conversation}
            writing={writing}
            stopping={stopping}
            onAsk={ask}
            onAskLater={(question) => threadId && enqueueQuestion(conversation, threadId, question)}
          />
        )}
      </div>
      <Announcer turn={turns.at(-1)} />
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
