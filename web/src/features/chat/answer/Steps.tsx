import { CircleAlert, Search } from 'lucide-react'
import { Spinner } from '@/components/Spinner'
import type { Message } from '@/lib/api'
import { texts } from '../texts'
import styles from './Steps.module.css'

/** AnyStep is a step of a running or a stored answer. */
type AnyStep = Omit<Message['steps'][number], 'kind'> & { readonly kind: string }

/** Steps shows the steps before the answer in one line: the running step or the last one. */
export function Steps({ steps, writing }: { steps: readonly AnyStep[]; writing: boolean }) {
  const told = steps.filter(({ kind }) => !noticeKinds.includes(kind))
  const step = told.find((item) => item.status === 'running') ?? told.at(-1)
  const words = step && (step.detail || texts.steps[step.kind]?.[step.status])
  if (step === undefined || !words) return null
  const running = writing && step.status === 'running'
  return (
    <p className={styles.step}>
      {running ? (
        <Spinner size={14} />
      ) : step.status === 'failed' ? (
        <CircleAlert size={14} aria-hidden />
      ) : (
        <Search size={14} aria-hidden />
      )}
      <span>{words}</span>
      {running && step.total ? <Progress words={words} done={step.done ?? 0} total={step.total} /> : null}
    </p>
  )
}

const noticeKinds = ['skill_documents', 'tools_refused']

/**
 * Notices shows what the answer lacks: documents of the skill that were unavailable, tools that the model cannot call. They
 * stay with the answer.
 */
export function Notices({ steps }: { steps: readonly AnyStep[] }) {
  return steps
    .filter(({ kind, detail }) => noticeKinds.includes(kind) && detail)
    .map(({ kind, detail }) => (
      <p key={kind} className={styles.step} role="note">
        <CircleAlert size={14} aria-hidden />
        <span>{detail}</span>
      </p>
    ))
}

function Progress({ words, done, total }: { words: string; done: number; total: number }) {
  return (
    <span
      className={styles.bar}
      role="progressbar"
      aria-label={words}
      aria-valuenow={done}
      aria-valuemin={0}
      aria-valuemax={total}
    >
      <span style={{ transform: `scaleX(${done / total})` }} />
    </span>
  )
}
