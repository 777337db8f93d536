import type { ComponentPropsWithRef, ReactNode } from 'react'
import { cx } from '@/lib/ui/cx'
import styles from './Chip.module.css'

/** A small toggle. */
export function ChoiceChip({
  selected,
  className,
  ...rest
}: ComponentPropsWithRef<'button'> & { selected: boolean }) {
  return <button type="button" {...rest} aria-pressed={selected} className={cx(styles.chip, className)} />
}

/** A small label. */
export function Chip({ className, ...rest }: ComponentPropsWithRef<'span'>) {
  return <span {...rest} className={cx(styles.chip, className)} />
}

/** A count; `label` describes what is counted. */
export function Badge({
  label,
  children,
  className,
}: {
  label: string
  children: ReactNode
  className?: string | undefined
}) {
  return (
    <span className={cx(styles.badge, className)} role="img" aria-label={label}>
      {children}
    </span>
  )
}
