import { Hourglass } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Turn } from '../conversation/turns'
import { useView } from '../conversation/view'
import { texts } from '../texts'
import styles from './Notices.module.css'

/** Busy shows when the last question is sent again, while the server is overloaded. */
export function Busy({ turn }: { turn: Turn | undefined }) {
  const view = useView(turn?.successor ?? turn?.live)
  // An answer that has begun shows the delay at its own end.
  if (view?.busyUntil == null || view.messageId !== null) return null
  return <Countdown key={view.busyUntil} until={view.busyUntil} />
}

function Countdown({ until }: { until: number }) {
  const left = () => Math.max(1, Math.ceil((until - Date.now()) / 1000))
  const [seconds, setSeconds] = useState(left)
  useEffect(() => {
    const timer = setInterval(() => setSeconds(left), 250)
    return () => clearInterval(timer)
  })
  return (
    <div className={styles.busy}>
      <Hourglass size={16} aria-hidden />
      {/* Screen readers do not read the countdown. */}
      <p className="visually-hidden" role="status">
        {texts.busy.spoken}
      </p>
      <p aria-hidden>{texts.busy.waiting(seconds)}</p>
    </div>
  )
}
