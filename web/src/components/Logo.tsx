import { cx } from '@/lib/cx'
import styles from './Logo.module.css'

/** The cocoon and the thread that leaves it. Decorative. */
export function LogoMark({ size = 28, className }: { size?: number; className?: string | undefined }) {
  return (
    <svg
      className={cx(styles.mark, className)}
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      stroke="currentColor"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <g transform="rotate(38 15.5 13.5)">
        <ellipse cx="15.5" cy="13.5" rx="7.4" ry="10.6" strokeWidth="1.5" />
        <path
          strokeWidth="1.1"
          d="M8.7 9.300c4 4.2 9.4 5.9 14 5.400M8.2 14.800c3.7 3.9 8.4 5.5 12.9 5.100M11.3 4.800c2.6 3.2 6.7 5.2 11 5.1"
        />
      </g>
      <path strokeWidth="1.5" d="M9.2 22.300c1.9 4.5 8 6.7 22.8 6.7" />
    </svg>
  )
}

/** The mark with the name. The thread of the mark runs on below it. */
export function Logo({ size = 28, className }: { size?: number; className?: string | undefined }) {
  return (
    <span className={cx(styles.logo, className)} style={{ fontSize: size * 0.64 }}>
      <LogoMark size={size} />
      <span className={styles.word}>Tsumugi</span>
    </span>
  )
}
