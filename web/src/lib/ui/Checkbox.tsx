import type { ComponentPropsWithoutRef } from 'react'
import styles from './Checkbox.module.css'

interface CheckboxProps extends Omit<ComponentPropsWithoutRef<'input'>, 'type' | 'className'> {
  /** Shows the third state: some items of a group are chosen. */
  readonly indeterminate?: boolean
}

/** A checkbox. Its label is around it, or in `aria-label`. */
export function Checkbox({ indeterminate = false, ...rest }: CheckboxProps) {
  return (
    <input
      {...rest}
      type="checkbox"
      className={styles.checkbox}
      ref={(box) => {
        if (box) box.indeterminate = indeterminate
      }}
    />
  )
}
