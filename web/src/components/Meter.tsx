import { formatNumber, percentOf } from '@/lib/ui/numbers'
import styles from './Meter.module.css'

/** The used share of a limit: a warning from 80 %, an error at 100 %. */
export function Meter({ label, used, limit }: { label: string; used: number; limit: number }) {
  const percent = percentOf(used, limit)
  const level = percent >= 100 ? 'full' : percent >= 80 ? 'high' : 'fine'
  return (
    <div
      className={styles.meter}
      data-level={level}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.min(100, percent)}
      aria-valuetext={`${formatNumber(limit)}のうち${formatNumber(used)}を使用、${percent}%`}
    >
      <span style={{ width: `${Math.min(100, percent)}%` }} />
    </div>
  )
}
