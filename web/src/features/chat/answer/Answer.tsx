import { useAtomValue } from 'jotai'
import { CircleAlert, CircleStop, RotateCcw } from 'lucide-react'
import { lazy, memo, Suspense, useEffect, useMemo } from 'react'
import { Button } from '@/components/Button'
import { ThreadLine } from '@/components/ThreadLine'
import { useOpenSource } from '@/entities/source/openSource'
import type { Message } from '@/lib/api'
import type { AnswerView, LiveAnswer } from '@/lib/stream'
import { thenFocusComposer } from '@/lib/ui/composer'
import { cx } from '@/lib/ui/cx'
import type { SourcePlace } from '@/lib/ui/sourcePlace'
import { CitationsContext } from '../citations/Citation'
import { canOpen, type Source, sortSources, sourcesOf } from '../citations/citations'
import { Sources } from '../citations/Sources'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { isRunning, type Turn } from '../conversation/turns'
import { useView } from '../conversation/view'
import { streams } from '../conversations'
import { Alternatives } from '../question/Alternatives'
import { texts } from '../texts'
import { Actions } from './Actions'
import styles from './Answer.module.css'
import { AnswerText } from './AnswerText'
import { FollowUps } from './FollowUps'
import { ProofreadAnswer } from './ProofreadAnswer'
import { Reasoning, storedThinking } from './Reasoning'
import { Notices, Steps } from './Steps'
import { Waiting } from './Waiting'

interface AnswerProps {
  readonly turn: Turn
  readonly conversation: Conversation
  /** Whether the skill accepts no more questions, so that answers cannot be regenerated. */
  readonly closed: boolean
  /** Whether the answer is far enough up to skip its rendering outside the viewport. */
  readonly settled: boolean
  /** Asks the next question; null if this is not the last answer. */
  readonly onAsk: ((question: Question) => void) | null
}

// Loaded on use: most answers have no calls of tools.
const ToolCalls = lazy(async () => ({ default: (await import('./ToolCalls')).ToolCalls }))
const Approvals = lazy(async () => ({ default: (await import('./ToolCalls')).Approvals }))

/** Answer shows an answer. While it is running, an animated line runs along its side. */
export const Answer = memo(function Answer({ turn, conversation, closed, settled, onAsk }: AnswerProps) {
  const { message, live, successor } = turn
  useWatch(live)
  useWatch(successor)
  const view = useView(live)
  const writing = live !== null
  const { citations, cited, consulted } = useSources(view, message)
  const calls = view?.toolCalls ?? message.tool_calls ?? []
  const steps = view?.steps ?? message.steps
  const proofread = view ? view.proofread : message.proofread

  return (
    <li
      className={cx(styles.answer, successor && styles.replaced)}
      data-turn
      data-settled={settled || undefined}
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
      <div className={styles.body} data-passages={proofread ? undefined : true}>
        <Notices steps={steps} />
        {/* After the answer, its cited sources replace the steps. */}
        {(writing || cited.length === 0) && <Steps steps={steps} writing={writing} />}
        {calls.length > 0 && (
          <Suspense fallback={null}>
            <ToolCalls calls={calls} writing={writing} />
          </Suspense>
        )}
        <Reasoning
          live={live}
          thinking={view ? view.thinking : storedThinking(message)}
          stored={message.reasoning ?? ''}
        />
        <CitationsContext value={citations}>
          {proofread ? (
            <ProofreadAnswer
              proofread={proofread}
              message={message}
              writing={writing}
              conversation={conversation}
            />
          ) : (
            <AnswerText
              live={live}
              stored={message.content}
              cut={message.status === 'failed' || /^(?:stopped|length)$/.test(message.finish_reason ?? '')}
            />
          )}
        </CitationsContext>
        {successor && <p className={styles.quiet}>{texts.status.rewriting}</p>}
        {!writing && (
          <Sources cited={cited} consulted={consulted} text={message.content} onOpen={citations.open} />
        )}
        {view && calls.length > 0 && (
          <Suspense fallback={null}>
            <Approvals calls={view.toolCalls} />
          </Suspense>
        )}
        {view && <Waiting view={view} />}
        {!writing && <Ending message={message} conversation={conversation} closed={closed} onAsk={onAsk} />}
        <div className={styles.under}>
          <Alternatives message={message} conversation={conversation} />
          {!writing && !isRunning(message) && (
            <Actions message={message} conversation={conversation} closed={closed} />
          )}
        </div>
        {onAsk && !closed && <FollowUps turn={turn} conversation={conversation} onAsk={onAsk} />}
      </div>
    </li>
  )
})

/**
 * useSources returns the sources of an answer, for the citations in its text and for the list below it. New sources do
 * not render the text again.
 */
function useSources(view: AnswerView | null, message: Message) {
  const openSource = useOpenSource()
  const given = view?.sources
  const checked = view?.citations ?? null
  const sources = useMemo(
    () => sourcesOf(given ? { sources: given, citations: checked } : null, message.citations),
    [given, checked, message.citations],
  )
  const { cited, consulted } = useMemo(
    () => sortSources(sources, message.content),
    [sources, message.content],
  )
  const citations = useMemo(() => {
    const steps = [...cited, ...consulted]
      .filter((source) => source.url === null && canOpen(source))
      .map(placeIn)
    const open = (source: Source) => openSource(placeIn(source), steps)
    return { byIndex: new Map(sources.map((source) => [source.index, source])), open }
  }, [sources, cited, consulted, openSource])
  return { citations, cited, consulted }
}

function placeIn({ passageId, index, page, dataSourceId }: Source): SourcePlace {
  return { dataSourceId, chunkId: passageId, page: page > 0 ? page : undefined, index }
}

/** useWatch keeps the answer's stream connected while the answer is on the screen. */
function useWatch(live: LiveAnswer | null): void {
  useEffect(() => (live === null ? undefined : streams.watch(live)), [live])
}

/** Ending shows why an answer is incomplete and the possible actions. */
function Ending({
  message,
  conversation,
  closed,
  onAsk,
}: Pick<AnswerProps, 'conversation' | 'closed' | 'onAsk'> & { message: Message }) {
  const busy = useAtomValue(conversation.busyAtom)
  if (message.status === 'failed') {
    return (
      <div className={styles.failed}>
        <CircleAlert size={16} aria-hidden />
        <p>{message.error?.detail || texts.status.failed}</p>
        {!closed && (
          <Button
            size="sm"
            disabled={busy}
            onClick={thenFocusComposer(() => conversation.regenerate(message.id))}
          >
            <RotateCcw size={14} aria-hidden />
            {texts.again}
          </Button>
        )}
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
  if (message.finish_reason !== 'length') return null
  return (
    <div className={styles.cut}>
      <p className={styles.quiet}>{texts.status.length}</p>
      {/* A question after a list of changes would be proofread. */}
      {onAsk && !closed && !message.proofread && (
        <Button
          size="sm"
          disabled={busy}
          onClick={thenFocusComposer(() => onAsk({ kind: 'text', content: texts.status.continuation }))}
        >
          {texts.status.continue}
        </Button>
      )}
    </div>
  )
}
