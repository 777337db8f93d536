import type { ComponentPropsWithRef, ReactNode } from 'react'
import type { Side } from '@/lib/ui/anchored'
import { cx } from '@/lib/ui/cx'
import styles from './Button.module.css'

export interface IconButtonProps extends Omit<ComponentPropsWithRef<'button'>, 'aria-label' | 'title'> {
  /** The action: the accessible name and the tooltip. */
  label: string
  /** The keyboard shortcut, shown in the tooltip. */
  shortcut?: string | undefined
  size?: 'sm' | 'md'
  side?: Side
  children: ReactNode
}

/** A button with only an icon. */
export function IconButton({
  label,
  shortcut,
  size = 'md',
  side = 'bottom',
  className,
  children,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      data-tip={side}
      data-tip-keys={shortcut}
      className={cx(styles.icon, size === 'sm' && styles.sm, className)}
    >
      {children}
    </button>
  )
}
