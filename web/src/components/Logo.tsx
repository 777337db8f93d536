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
      <path
        strokeWidth="1.6"
        d="M16 4.5c5.2 0 8.6 4.2 8.6 9.6s-3.400 9.600-8.600 9.600-8.600-4.200-8.600-9.600S10.800 4.500 16 4.500"
      />
      <path
        strokeWidth="1.200"
        d="M8.200 10.600c5 3 10.600 3 15.600 0M7.600 15.600c5.400 3 11.400 3 16.800 0M10 20.600c4 1.900 8.600 1.700 12-.4"
      />
      <path strokeWidth="1.600" d="M16 23.700c2.400 2.800 6 3.800 11.500 3.800" />
    </svg>
  )
}

/** The mark with the name. */
export function Logo({ size = 28, className }: { size?: number; className?: string | undefined }) {
  return (
    <span className={cx(styles.logo, className)}>
      <LogoMark size={size} />
      <span className={styles.word}>Tsumugi</span>
    </span>
  )
}
