import { Check, Copy, RotateCcw, ThumbsDown, ThumbsUp } from 'lucide-react'
import { memo, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { ThreadLine } from '@/components/ThreadLine'
import { copyRich } from '@/lib/browser/clipboard'
import { Markdown, markdownToHtml } from '@/lib/markdown'
import type { Answer } from '@/lib/stream'
import type { Turn } from '../lib/storedConversations'
import { count, t } from '../lib/texts'
import { Approvals, approvalNotice, isWaiting } from './Approvals'
import { type Conversation, isOver } from './conversation'
import styles from './Panel.module.css'
import { Citation, SourceList, SourcesContext, sourcesOf } from './Sources'

/** The questions and answers of a conversation. `origin` is the server; empty if it is unknown. */
export function Turns({ conversation, origin }: { conversation: Conversation; origin: string }) {
  const stored = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  const end = useRef<HTMLLIElement>(null)
  const turns = stored.turns.length
  const last = stored.turns.at(-1)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll to a new question, but not for growing text.
  useEffect(() => {
    // Newer browsers return a promise, which React would take for a cleanup function.
    void end.current?.scrollIntoView({ block: 'start' })
  }, [turns])
  return (
    <>
      <p className={styles.page}>{stored.title || stored.url}</p>
      <ol className={styles.turns} aria-label={t('conversation')}>
        {stored.turns.map((turn, index) => (
          <li key={turn.key} ref={index === turns - 1 ? end : null} className={styles.turn}>
            <TurnView
              turn={turn}
              line={conversation.lineOf(turn.key)}
              conversation={conversation}
              origin={origin}
              last={index === turns - 1}
            />
          </li>
        ))}
      </ol>
      <Announcer
        writing={conversation.writing}
        text={last?.answer.text ?? ''}
        approval={last ? approvalNotice(last.answer) : ''}
      />
    </>
  )
}

interface TurnProps {
  readonly turn: Turn
  readonly line: string | null
  readonly conversation: Conversation
  readonly origin: string
  readonly last: boolean
}

const TurnView = memo(function TurnView({ turn, line, conversation, origin, last }: TurnProps) {
  const { answer, sent } = turn
  const over = isOver(turn)
  const reason = answer.outcome?.kind === 'finished' ? answer.outcome.reason : answer.outcome?.kind
  const cut = turn.failure !== null || (reason !== undefined && reason !== 'stop')
  const sources = useMemo(() => sourcesOf(answer, origin), [answer, origin])
  const step = answer.steps.find(({ status }) => status === 'running') ?? answer.steps.at(-1)
  return (
    <>
      <div className={styles.question}>
        <h2 className="visually-hidden">{t('question')}</h2>
        <p>{turn.question}</p>
        {sent && (
          <p className={styles.quiet}>
            {t(sent.left > 0 ? 'sentNote' : 'sentWhole', count(sent.characters), count(sent.left))}
          </p>
        )}
      </div>
      <div className={styles.answer} data-answer aria-busy={!over || undefined}>
        <h2 className="visually-hidden">{t('answer')}</h2>
        {!over && <ThreadLine running />}
        {step?.detail && <p className={styles.quiet}>{step.detail}</p>}
        <SourcesContext value={sources}>
          <Markdown text={answer.text} growing={!over} cut={cut} Citation={Citation} />
          {over && <SourceList />}
        </SourcesContext>
        <Approvals turn={turn} conversation={conversation} origin={origin} />
        {!over && <p className={styles.quiet}>{statusOf(line, answer)}</p>}
        {over && <Ending turn={turn} conversation={conversation} />}
        {over && answer.text !== '' && <Actions turn={turn} conversation={conversation} last={last} />}
      </div>
    </>
  )
})

function statusOf(line: string | null, answer: Answer): string {
  if (line === 'waiting') return t('waiting')
  if (answer.rewriting) return t('rewriting')
  return answer.text === '' && !isWaiting(answer) ? t('answering') : ''
}

/** Why an answer is incomplete. */
function Ending({ turn, conversation }: { turn: Turn; conversation: Conversation }) {
  const { outcome } = turn.answer
  const failure = turn.failure ?? (outcome?.kind === 'failed' ? outcome.message || t('failed') : null)
  const costly = turn.tokensToAccept !== undefined
  if (failure !== null) {
    return (
      <div className={styles.failed} role="alert">
        <p>{failure}</p>
        <Button
          size="sm"
          disabled={conversation.writing}
          onClick={() => (costly ? conversation.retry(turn) : conversation.regenerate(turn))}
        >
          {!costly && <RotateCcw size={14} aria-hidden />}
          {t(costly ? 'proceed' : 'again')}
        </Button>
      </div>
    )
  }
  if (outcome?.kind === 'stopped') return <p className={styles.quiet}>{t('stopped')}</p>
  if (outcome?.kind === 'finished' && outcome.reason === 'length') {
    return <p className={styles.quiet}>{t('lengthReached')}</p>
  }
  return null
}

const ratings = [
  ['good', ThumbsUp],
  ['bad', ThumbsDown],
] as const

/** The actions on a finished answer. Only the last one can be regenerated, as later turns depend on the others. */
function Actions({ turn, conversation, last }: { turn: Turn; conversation: Conversation; last: boolean }) {
  const [said, say] = useState<'copied' | 'copyFailed' | 'actionFailed' | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => say(null), 2500)
    return () => clearTimeout(timer)
  }, [said])
  const { text } = turn.answer
  const rate = (rating: 'good' | 'bad') => conversation.rate(turn, rating).catch(() => say('actionFailed'))
  const copy = () =>
    copyRich(text, markdownToHtml(text)).then(
      () => say('copied'),
      () => say('copyFailed'),
    )
  return (
    <div className={styles.actions}>
      <IconButton size="sm" label={t('copy')} onClick={() => void copy()}>
        {said === 'copied' ? <Check size={16} /> : <Copy size={16} />}
      </IconButton>
      {ratings.map(([rating, Thumb]) => (
        <IconButton
          key={rating}
          size="sm"
          label={t(rating)}
          aria-pressed={turn.rating === rating}
          onClick={() => void rate(rating)}
        >
          <Thumb size={16} fill={turn.rating === rating ? 'currentColor' : 'none'} />
        </IconButton>
      ))}
      {last && (
        <IconButton
          size="sm"
          label={t('regenerate')}
          disabled={conversation.writing}
          onClick={() => conversation.regenerate(turn)}
        >
          <RotateCcw size={16} />
        </IconButton>
      )}
      <span className={styles.quiet} aria-live="polite">
        {said && t(said)}
      </span>
    </div>
  )
}

/** Announces to screen readers that an answer is running, decisions that it needs, and then its text once. */
function Announcer({ writing, text, approval }: { writing: boolean; text: string; approval: string }) {
  const before = useRef(writing)
  const [said, say] = useState('')
  useEffect(() => {
    if (before.current !== writing) say(writing ? t('answering') : text)
    before.current = writing
  }, [writing, text])
  useEffect(() => {
    if (writing && approval !== '') say(approval)
  }, [writing, approval])
  return (
    <p className="visually-hidden" role="status">
      {said}
    </p>
  )
}
