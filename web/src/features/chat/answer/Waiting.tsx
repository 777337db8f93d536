import { Hourglass, type LucideIcon, RotateCcw, Unplug } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { AnswerView } from '@/lib/stream'
import { cx } from '@/lib/ui/cx'
import { texts } from '../texts'
import styles from './Answer.module.css'

/** Delay is the reason why an answer is delayed. */
export type Delay = 'reconnecting' | 'stalled' | 'rewriting'

/** Connection losses shorter than this are not reported. */
const downMs = 3000

/**
 * useDelay returns the delay to report, or null. If there are several, it returns the one that the reader can influence
 * least.
 */
export function useDelay(view: AnswerView | null): Delay | null {
  // A connection attempt counts as down like the wait before it. A busy server is not down.
  const waiting = view?.line === 'waiting' && view.busyUntil === null
  const down = waiting || (view?.line === 'connecting' && view.messageId !== null)
  const reconnecting = useDelayed(down, downMs)
  if (view === null || view.ending !== null) return null
  if (reconnecting) return 'reconnecting'
  if (view.stalled) return 'stalled'
  return view.rewriting ? 'rewriting' : null
}

const icons: Readonly<Record<Delay, LucideIcon>> = {
  reconnecting: Unplug,
  stalled: Hourglass,
  rewriting: RotateCcw,
}

/** Waiting shows the delay at the end of a running answer. Announcer announces it to screen readers. */
export function Waiting({ view }: { view: AnswerView }) {
  const delay = useDelay(view)
  if (delay !== null) {
    const Icon = icons[delay]
    return (
      // Below text it uses the space under the answer, so that nothing moves when it appears or disappears.
      <p className={cx(styles.quiet, view.hasText && styles.below)}>
        <Icon size={14} aria-hidden />
        {texts.delay[delay]}
      </p>
    )
  }
  if (view.busyUntil !== null && view.messageId === null) {
    return <p className={styles.quiet}>{texts.status.queued}</p>
  }
  if (view.toolCalls.some((call) => call.approval?.state === 'waiting')) return null
  if (view.hasText || view.thinking !== null || view.steps.some((step) => step.status === 'running'))
    return null
  return <p className={styles.quiet}>{texts.status.writing}</p>
}

function useDelayed(on: boolean, ms: number): boolean {
  const [late, setLate] = useState(false)
  useEffect(() => {
    if (!on) {
      setLate(false)
      return
    }
    const timer = setTimeout(() => setLate(true), ms)
    return () => clearTimeout(timer)
  }, [on, ms])
  return on && late
}
