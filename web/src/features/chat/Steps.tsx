import { CircleAlert, Search } from 'lucide-react'
import { Spinner } from '@/components/Spinner'
import type { StepStatus } from '@/lib/stream'
import styles from './Chat.module.css'
import { texts } from './texts'

interface AnyStep {
  readonly kind: string
  readonly status: StepStatus
  readonly detail?: string | undefined
}

/** What the assistant does before it writes, as one quiet line: the step it is at, or the last one. */
export function Steps({ steps, writing }: { steps: readonly AnyStep[]; writing: boolean }) {
  const step = steps.find((item) => item.status === 'running') ?? steps.at(-1)
  const words = step && texts.steps[step.kind]?.[step.status]
  if (step === undefined || words === undefined) return null
  const running = writing && step.status === 'running'
  return (
    <p className={styles.quiet}>
      {running ? (
        <Spinner size={14} />
      ) : step.status === 'failed' ? (
        <CircleAlert size={14} aria-hidden />
      ) : (
        <Search size={14} aria-hidden />
      )}
      <span>
        {words}
        {step.detail && ` ${step.detail}`}
      </span>
    </p>
  )
}
