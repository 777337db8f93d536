import type { ReactNode } from 'react'
import styles from './Choice.module.css'

interface ChoiceProps {
  label: string
  hint: ReactNode
  checked: boolean
  disabled?: boolean
  onChange: (checked: boolean) => void
}

/** A checkbox with what it means. */
export function Choice({ label, hint, checked, disabled, onChange }: ChoiceProps) {
  return (
    <label className={styles.choice}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        {label}
        <span className={styles.hint}>{hint}</span>
      </span>
    </label>
  )
}
