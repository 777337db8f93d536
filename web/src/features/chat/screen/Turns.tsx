import { useAtomValue } from 'jotai'
import type { RefObject } from 'react'
import { Button } from '@/components/Button'
import { Spinner } from '@/components/Spinner'
import type { Skill } from '@/lib/api'
import { useScrollTrigger } from '@/lib/ui/scrollTrigger'
import { Answer } from '../answer/Answer'
import type { Conversation } from '../conversation/conversation'
import type { Question as AskedQuestion } from '../conversation/conversationState'
import { Question } from '../question/Question'
import { texts } from '../texts'
import styles from './Chat.module.css'

/** Turns shows the messages of a thread, oldest first. It loads earlier ones when the reader scrolls near the top. */
export function Turns({
  skill,
  conversation,
  scroller,
  onAsk,
}: {
  skill: Skill
  conversation: Conversation
  scroller: RefObject<HTMLDivElement | null>
  onAsk: (question: AskedQuestion) => void
}) {
  const { turns, older, editing, thread } = useAtomValue(conversation.stateAtom)
  // Branches belong to the owner of a thread.
  const reads = thread?.own === false || thread?.can_ask === false
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: older === 'more',
    onNear: () => void conversation.loadOlder(),
    edge: 'start',
    count: turns.length,
  })
  return (
    <>
      <div ref={sentinel} className={styles.sentinel} />
      {older === 'loading' && (
        <p className={styles.older} role="status">
          <Spinner size={16} />
          {texts.loading}
        </p>
      )}
      {older === 'failed' && (
        <p className={styles.older} role="alert">
          {texts.olderFailed}
          <Button variant="link" onClick={() => void conversation.loadOlder()}>
            {texts.again}
          </Button>
        </p>
      )}
      <ol className={styles.turns} aria-label={texts.messages}>
        {turns.map((turn, index) =>
          turn.message.role === 'user' ? (
            <Question
              key={turn.key}
              turn={turn}
              skill={skill}
              conversation={conversation}
              editing={editing === turn.message.id}
              settled={index < turns.length - 4}
              shared={thread?.visibility === 'project'}
              fixed={reads}
            />
          ) : (
            <Answer
              key={turn.key}
              turn={turn}
              conversation={conversation}
              closed={Boolean(skill.unavailable_reason) || reads}
              settled={index < turns.length - 4}
              onAsk={index === turns.length - 1 && !reads ? onAsk : null}
            />
          ),
        )}
      </ol>
    </>
  )
}
