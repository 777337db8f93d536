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
import { Composer } from '../composer/Composer'
import { DropTarget } from '../composer/DropTarget'
import { Queue } from '../composer/Queue'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { isWriting } from '../conversation/turns'
import { enqueueQuestion } from '../conversations'
import { Announcer } from '../notices/Announcer'
import { Busy } from '../notices/Busy'
import { CostDialog } from '../notices/CostDialog'
import { Failure } from '../notices/Failure'
import { OtherBranchNotice } from '../notices/OtherBranchNotice'
import { Temporary } from '../notices/Temporary'
import { Start } from '../start/Start'
import { texts } from '../texts'
import styles from './Chat.module.css'
import { ChatHead } from './ChatHead'
import { Turns } from './Turns'
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
