import { Hourglass, type LucideIcon, RotateCcw, Unplug } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { AnswerView } from '@/lib/stream'
import { cx } from '@/lib/ui/cx'
import styles from './Chat.module.css'
import { texts } from './texts'

/** What keeps an answer from going on as usual; null where nothing does. */
export type Delay = 'reconnecting' | 'stalled' | 'rewriting'

/** A line that is down for less than this is not worth a word. */
const downMs = 3000

/** What there is to say of an answer's delay. One thing at a time: what the reader can do least about comes first. */
export function useDelay(view: AnswerView | null): Delay | null {
  // While it tries again it is as much down as while it waits for that. A server that is busy is not away.
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

/** The quiet line at the end of an answer that is being written. The announcer is the one who says it aloud. */
export function Waiting({ view }: { view: AnswerView }) {
  const delay = useDelay(view)
  if (delay !== null) {
    const Icon = icons[delay]
    return (
      // Under text it stands in the space below the answer, so that nothing moves when it comes and goes.
      <p className={cx(styles.quiet, view.hasText && styles.below)}>
        <Icon size={14} aria-hidden />
        {texts.delay[delay]}
      </p>
    )
  }
  if (view.busyUntil !== null && view.messageId === null) {
    return <p className={styles.quiet}>{texts.status.queued}</p>
  }
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
