import { cx } from '@/lib/ui/cx'
import styles from './Logo.module.css'

/** The cocoon of the mark; its thread is the line of the logo. As in public/icons/logo.svg. Decorative. */
export function LogoMark({ size = 28, className }: { size?: number; className?: string | undefined }) {
  return (
    <svg
      className={cx(styles.mark, className)}
      width={size}
      height={size}
      viewBox="0 0 48 48"
      fill="none"
      stroke="currentColor"
      strokeWidth="2.6"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path
        strokeLinecap="round"
        d="M19 39.5C9.5 39.5 4.5 32.5 6.5 24.5C9 14.5 19.5 8 28.5 8.5C37 9 40 16 37 23C34 30 26 34.5 20 32.5C14.5 30.5 15 24 19.5 20C22.4 17.6 26.2 16.8 28.2 18.9"
      />
    </svg>
  )
}

/** The mark with the name. The thread of the mark continues below the name. */
export function Logo({ size = 28, className }: { size?: number; className?: string | undefined }) {
  return (
    <span className={cx(styles.logo, className)} style={{ fontSize: size * 0.66 }}>
      <LogoMark size={size} />
      <span className={styles.word}>Tsumugi</span>
    </span>
  )
}
