import { useId } from 'react'
import { FieldErrorText } from '@/components/Field'
import type { ToolInputField } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import styles from './ApprovalCard.module.css'
import { texts as cardTexts } from './approvalTexts'

const texts = cardTexts.inputs

interface InputChoicesProps {
  /** The name of the checkboxes. */
  readonly name: string
  readonly field: ToolInputField
  readonly value: readonly string[]
  readonly error: string | undefined
  readonly onChange: (value: readonly string[]) => void
}

/** InputChoices is a field of a tool's form with several choices. */
export function InputChoices({ name, field, value, error, onChange }: InputChoicesProps) {
  const id = useId()
  const { label, description, required, options = [], min_items = 0, max_items = 0 } = field
  const limit = texts.choices(min_items, max_items < options.length ? max_items : 0)
  const hint = [description, limit].filter(Boolean).join('\n')
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  const toggle = (changed: string, checked: boolean) =>
    // In the order of the options.
    onChange(options.map((o) => o.value).filter((o) => (o === changed ? checked : value.includes(o))))
  return (
    <fieldset className={styles.choices} aria-describedby={described || undefined}>
      <legend>
        {label}
        {(!required || min_items === 0) && <span className={styles.optional}>{cardTexts.optional}</span>}
      </legend>
      {hint && (
        <div className={styles.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {options.map((option) => (
        <label key={option.value}>
          <Checkbox
            name={name}
            checked={value.includes(option.value)}
            aria-invalid={error ? true : undefined}
            onChange={(event) => toggle(option.value, event.target.checked)}
          />
          <span>{option.label}</span>
        </label>
      ))}
      <div role="alert">{error && <FieldErrorText id={`${id}-error`}>{error}</FieldErrorText>}</div>
    </fieldset>
  )
}
