import { CircleAlert, Search } from 'lucide-react'
import { Spinner } from '@/components/Spinner'
import type { StepStatus } from '@/lib/stream'
import { texts } from '../texts'
import styles from './Steps.module.css'

interface AnyStep {
  readonly kind: string
  readonly status: StepStatus
  /** The server's description of the step. */
  readonly detail?: string | undefined
  readonly done?: number | undefined
  readonly total?: number | undefined
}

/** Steps shows the steps before the answer in one line: the running step or the last one. */
export function Steps({ steps, writing }: { steps: readonly AnyStep[]; writing: boolean }) {
  const told = steps.filter((item) => item.kind !== 'skill_documents')
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

/** MissingDocuments lists the skill's documents that were unavailable for the answer. It stays with the answer. */
export function MissingDocuments({ steps }: { steps: readonly AnyStep[] }) {
  const detail = steps.find((item) => item.kind === 'skill_documents')?.detail
  if (!detail) return null
  return (
    <p className={styles.step} role="note">
      <CircleAlert size={14} aria-hidden />
      <span>{detail}</span>
    </p>
  )
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
