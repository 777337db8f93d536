import type { ReactNode } from 'react'
import { Checkbox } from '@/lib/ui/Checkbox'
import styles from './Choice.module.css'

interface ChoiceProps {
  label: string
  hint: ReactNode
  checked: boolean
  disabled?: boolean
  onChange: (checked: boolean) => void
}

/** A checkbox with a label and a hint. */
export function Choice({ label, hint, checked, disabled, onChange }: ChoiceProps) {
  return (
    <label className={styles.choice}>
      <Checkbox checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span>
        {label}
        <span className={styles.hint}>{hint}</span>
      </span>
    </label>
  )
}
