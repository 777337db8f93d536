import { atom, useAtomValue } from 'jotai'
import { CircleAlert, CircleStop, RotateCcw } from 'lucide-react'
import { memo, useEffect, useMemo } from 'react'
import { Button } from '@/components/Button'
import { ThreadLine } from '@/components/ThreadLine'
import type { Message } from '@/lib/api'
import { Markdown } from '@/lib/markdown'
import type { AnswerView, LiveAnswer } from '@/lib/stream'
import { cx } from '@/lib/ui/cx'
import { Actions } from './Actions'
import { Alternatives } from './Alternatives'
import styles from './Chat.module.css'
import { focusComposer } from './Composer'
import type { Conversation } from './conversation'
import { streams } from './conversations'
import { Reasoning, storedThinking } from './Reasoning'
import { Sources, sourceId } from './Sources'
import { Steps } from './Steps'
import { texts } from './texts'
import { isRunning, type Turn, toSource } from './turns'
import { Waiting } from './Waiting'

interface AnswerProps {
  readonly turn: Turn
  readonly conversation: Conversation
  /** Far enough up that the browser need not draw it while it is out of sight. */
  readonly settled: boolean
}

const noView = atom<AnswerView | null>(null)
const noText = atom('')

/** An answer, on the paper: while it is written, with a thread running beside it. */
export const Answer = memo(function Answer({ turn, conversation, settled }: AnswerProps) {
  const { message, live, successor } = turn
  useWatch(live)
  useWatch(successor)
  const view = useAtomValue<AnswerView | null>(live?.viewAtom ?? noView)
  const writing = live !== null
  const sources = useMemo(
    () => view?.sources ?? message.citations.map(toSource),
    [view?.sources, message.citations],
  )
  // The same numbers are the same set: a new one would render every block of the answer anew.
  const numbers = sources.map((source) => source.index).join()
  const citations = useMemo(() => new Set(numbers === '' ? [] : numbers.split(',').map(Number)), [numbers])
  const cite = useMemo(() => (index: number) => show(sourceId(turn.key, index)), [turn.key])

  return (
    <li
      className={cx(styles.answer, settled && styles.settled, successor && styles.replaced)}
      data-turn
      data-message={message.id}
      aria-busy={writing || undefined}
    >
      <h2 className="visually-hidden">{texts.answer}</h2>
      <div className={styles.line}>
        {(writing || successor) && (
          <div className={styles.thread}>
            <ThreadLine direction="vertical" running />
          </div>
        )}
      </div>
      <div className={styles.body}>
        <Steps steps={view?.steps ?? message.steps} writing={writing} />
        <Reasoning
          live={live}
          thinking={view ? view.thinking : storedThinking(message)}
          stored={message.reasoning ?? ''}
        />
        <AnswerText
          live={live}
          stored={message.content}
          cut={message.status === 'failed' || /^(?:stopped|length)$/.test(message.finish_reason ?? '')}
          citations={citations}
          onCite={cite}
        />
        {successor && <p className={styles.quiet}>{texts.status.rewriting}</p>}
        <Sources turnKey={turn.key} sources={sources} />
        {view && <Waiting view={view} />}
        {!writing && <Ending message={message} conversation={conversation} />}
        <div className={styles.under}>
          <Alternatives message={message} conversation={conversation} />
          {!writing && !isRunning(message) && <Actions message={message} conversation={conversation} />}
        </div>
      </div>
    </li>
  )
})

/** Keeps the answer's stream connected while it is on the screen. */
function useWatch(live: LiveAnswer | null): void {
  useEffect(() => (live === null ? undefined : streams.watch(live)), [live])
}

/** The only part that follows the text: nothing else is rendered while it grows. */
function AnswerText({
  live,
  stored,
  cut,
  citations,
  onCite,
}: {
  live: LiveAnswer | null
  stored: string
  cut: boolean
  citations: ReadonlySet<number>
  onCite: (index: number) => void
}) {
  const text = useAtomValue(live?.textAtom ?? noText)
  return (
    <Markdown
      text={live ? text : stored}
      growing={live !== null}
      cut={cut}
      citations={citations}
      onCite={onCite}
    />
  )
}

/** Why an answer is not whole, and what can be done about it. */
function Ending({ message, conversation }: { message: Message; conversation: Conversation }) {
  const busy = useAtomValue(conversation.busyAtom)
  if (message.status === 'failed') {
    return (
      <div className={styles.failed}>
        <CircleAlert size={16} aria-hidden />
        <p>{message.error?.detail || texts.status.failed}</p>
        <Button
          size="sm"
          disabled={busy}
          onClick={() => {
            conversation.regenerate(message.id)
            focusComposer()
          }}
        >
          <RotateCcw size={14} aria-hidden />
          {texts.status.again}
        </Button>
      </div>
    )
  }
  if (message.finish_reason === 'stopped') {
    return (
      <p className={styles.quiet}>
        <CircleStop size={14} aria-hidden />
        {texts.status.stopped}
      </p>
    )
  }
  return message.finish_reason === 'length' ? <p className={styles.quiet}>{texts.status.length}</p> : null
}

function show(id: string): void {
  const element = document.getElementById(id)
  element?.scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  element?.focus({ preventScroll: true })
}
