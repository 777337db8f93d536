import { useAtomValue } from 'jotai'
import { useCallback, useState } from 'react'
import type { Skill, Thread } from '@/lib/api'
import { preloadMarkdown } from '@/lib/markdown'
import { cx } from '@/lib/ui/cx'
import { Composer } from '../composer/Composer'
import { Queue } from '../composer/Queue'
import type { Question } from '../conversation/conversationState'
import { isWriting } from '../conversation/turns'
import { enqueueQuestion, newTrial } from '../conversations'
import { Announcer } from '../notices/Announcer'
import { Busy } from '../notices/Busy'
import { CostDialog } from '../notices/CostDialog'
import { Failure } from '../notices/Failure'
import { Start } from '../start/Start'
import styles from './Chat.module.css'
import { Turns } from './Turns'
import { useAutoScroll } from './useAutoScroll'

/** Trial is a thread with an unsaved skill. `start` creates the thread with the first question. */
export function Trial({ skill, start }: { skill: Skill; start: (requestId: string) => Promise<Thread> }) {
  const [conversation] = useState(() => newTrial(skill.id, start))
  const { thread, turns, failure, costly, stopping } = useAtomValue(conversation.stateAtom)
  const { scroller, content, toEnd } = useAutoScroll(turns[0]?.key)
  const empty = turns.length === 0
  const form = empty && skill.form_type === 'form'
  const ask = useCallback(
    (question: Question) => {
      preloadMarkdown().catch(() => {})
      void conversation.ask(question)
      requestAnimationFrame(() => toEnd())
    },
    [conversation, toEnd],
  )
  const threadId = thread?.id
  return (
    <div className={styles.chat}>
      <div className={styles.scroller} ref={scroller}>
        <div className={cx(styles.content, empty && styles.empty)} ref={content}>
          {empty ? (
            <Start skill={skill} conversation={conversation} heading="h3" onAsk={ask} />
          ) : (
            <Turns skill={skill} conversation={conversation} scroller={scroller} />
          )}
        </div>
      </div>
      <div className={styles.foot}>
        <Busy turn={turns.at(-1)} />
        {failure && <Failure failure={failure} onDismiss={() => conversation.dismissFailure()} />}
        {costly && <CostDialog costly={costly} onDecline={() => conversation.declineCost()} />}
        {threadId && <Queue conversation={conversation} threadId={threadId} />}
        {!form && (
          <Composer
            skill={skill}
            conversation={conversation}
            writing={isWriting(turns.at(-1))}
            stopping={stopping}
            focused={false}
            onAsk={ask}
            onAskLater={(question) => threadId && enqueueQuestion(conversation, threadId, question)}
          />
        )}
      </div>
      <Announcer turn={turns.at(-1)} />
    </div>
  )
}
