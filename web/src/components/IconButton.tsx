import type { ComponentPropsWithRef, ReactNode } from 'react'
import { cx } from '@/lib/cx'
import styles from './Button.module.css'
import { Tooltip } from './Tooltip'

interface IconButtonProps extends Omit<ComponentPropsWithRef<'button'>, 'aria-label' | 'title'> {
  /** What it does, in words: the accessible name and the tooltip. */
  label: string
  /** The keys that do the same, shown in the tooltip. */
  shortcut?: string | undefined
  size?: 'sm' | 'md'
  side?: 'top' | 'right' | 'bottom' | 'left'
  children: ReactNode
}

/** A button that is an icon alone. */
export function IconButton({
  label,
  shortcut,
  size = 'md',
  side,
  className,
  children,
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip label={label} shortcut={shortcut} side={side}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={cx(styles.icon, size === 'sm' && styles.sm, className)}
      >
        {children}
      </button>
    </Tooltip>
  )
}
