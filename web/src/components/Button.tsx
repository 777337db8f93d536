import type { ComponentPropsWithRef } from 'react'
import { Link, type LinkProps } from 'react-router'
import { cx } from '@/lib/ui/cx'
import styles from './Button.module.css'
import { Spinner } from './Spinner'

/**
 * The emphasis of a button. A group has at most one `primary`. A destructive action is `quietDanger` and last; only the
 * button that confirms it in a dialog is `danger`.
 */
type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger' | 'quietDanger' | 'link'
type ButtonSize = 'sm' | 'md' | 'lg'

interface Look {
  variant?: ButtonVariant
  size?: ButtonSize
  wide?: boolean
}

export interface ButtonProps extends ComponentPropsWithRef<'button'>, Look {
  /** Shows that work is in progress. Clicks are ignored and the focus stays. */
  loading?: boolean | undefined
}

/** A button with a text. */
export function Button({ variant, size, wide, loading, className, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass({ variant, size, wide }, className)}
      aria-busy={loading || undefined}
      onClick={(event) => {
        if (loading) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {loading && <Spinner size={16} />}
      {children}
    </button>
  )
}

/** A link within the app that looks like a button. */
export function ButtonLink({ variant, size, wide, className, ...rest }: LinkProps & Look) {
  return <Link {...rest} className={buttonClass({ variant, size, wide }, className)} />
}

/** A link that another program opens and that looks like a button. */
export function ExternalButtonLink({
  variant,
  size,
  wide,
  className,
  ...rest
}: ComponentPropsWithRef<'a'> & Look) {
  return <a {...rest} className={buttonClass({ variant, size, wide }, className)} />
}

function buttonClass(
  { variant = 'secondary', size = 'md', wide }: { [K in keyof Look]: Look[K] | undefined },
  extra?: string,
): string {
  return cx(styles.button, styles[variant], size !== 'md' && styles[size], wide && styles.wide, extra)
}
