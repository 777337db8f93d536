import { useAtomValue } from 'jotai'
import { ArrowDown } from 'lucide-react'
import { useCallback, useRef } from 'react'
import { Button } from '@/components/Button'
import type { Skill } from '@/lib/api'
import { whenIdle } from '@/lib/browser/idle'
import { loadFormulaStyles, preloadMarkdown } from '@/lib/markdown'
import { thenFocusComposer } from '@/lib/ui/composer'
import { cx } from '@/lib/ui/cx'
import { useToastPlace } from '@/lib/ui/toastPlace'
import { Composer } from '../composer/Composer'
import { Queue } from '../composer/Queue'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { isWriting } from '../conversation/turns'
import { Announcer } from '../notices/Announcer'
import { Busy } from '../notices/Busy'
import { CostDialog } from '../notices/CostDialog'
import { Failure } from '../notices/Failure'
import { OtherBranchNotice } from '../notices/OtherBranchNotice'
import { WaitingList } from '../project/WaitingList'
import { PassageActions } from '../selection/PassageActions'
import { Start } from '../start/Start'
import { texts } from '../texts'
import styles from './Chat.module.css'
import { Turns } from './Turns'
import type { AutoScroll } from './useAutoScroll'

interface ChatBodyProps {
  readonly skill: Skill
  readonly conversation: Conversation
  readonly scroll: AutoScroll
  /** Whether the chat is a part of another page: without scrolling, focus and print styles of its own. */
  readonly embedded?: boolean
}

/** ChatBody shows the messages of a thread or the start of a new one, the notices and the composer. */
export function ChatBody({ skill, conversation, scroll, embedded = false }: ChatBodyProps) {
  const { thread, turns, failure, costly, stopping, otherBranch } = useAtomValue(conversation.stateAtom)
  const { scroller, content, away, toEnd } = scroll
  const empty = turns.length === 0
  const form = empty && skill.form_type === 'form'
  const threadId = thread?.id
  const foot = useRef<HTMLDivElement>(null)
  useToastPlace('foot', foot, !embedded && !form)

  const ask = useCallback(
    (question: Question) => {
      // The answer does not have to wait for the renderer, which usually loads first.
      preloadMarkdown().catch(() => {})
      if (!embedded) whenIdle(() => void loadFormulaStyles().catch(() => {}))
      void conversation.ask(question)
      requestAnimationFrame(() => toEnd())
    },
    [conversation, toEnd, embedded],
  )
  return (
    <>
      <div className={styles.scroller} ref={scroller} data-scroller={embedded ? undefined : true}>
        <div className={cx(styles.content, empty && styles.empty)} ref={content}>
          {empty ? (
            <Start skill={skill} conversation={conversation} heading={embedded ? 'h3' : 'h1'} onAsk={ask} />
          ) : (
            <Turns skill={skill} conversation={conversation} scroller={scroller} onAsk={ask} />
          )}
        </div>
      </div>
      <div className={styles.foot} ref={foot} data-print={embedded ? undefined : 'hide'}>
        {away && !embedded && <ToEnd scroll={scroll} />}
        <Busy turn={turns.at(-1)} />
        {otherBranch && !embedded && <OtherBranchNotice place={otherBranch} conversation={conversation} />}
        {failure && <Failure failure={failure} onDismiss={() => conversation.dismissFailure()} />}
        {costly && <CostDialog costly={costly} onDecline={() => conversation.declineCost()} />}
        {threadId && <WaitingList threadId={threadId} />}
        {threadId && <Queue conversation={conversation} threadId={threadId} />}
        {thread?.can_ask === false && <p className={styles.older}>{texts.project.closed}</p>}
        {!form && thread?.can_ask !== false && (
          <Composer
            skill={skill}
            conversation={conversation}
            writing={isWriting(turns.at(-1))}
            stopping={stopping}
            focused={!embedded}
            offersSkills={!embedded}
            onAsk={ask}
          />
        )}
      </div>
      <PassageActions
        conversation={conversation}
        root={content}
        closed={Boolean(skill.unavailable_reason) || thread?.can_ask === false}
        onAsk={ask}
      />
      <Announcer turn={turns.at(-1)} />
    </>
  )
}

/** ToEnd scrolls to the end. It is shown while the end is out of view. */
function ToEnd({ scroll: { toEnd } }: { scroll: AutoScroll }) {
  return (
    <Button className={styles.toEnd} size="sm" onClick={thenFocusComposer(() => toEnd(true))}>
      <ArrowDown size={14} aria-hidden />
      {texts.toEnd}
    </Button>
  )
}
