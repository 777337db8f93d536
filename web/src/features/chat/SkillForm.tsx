import { useAtom, useAtomValue } from 'jotai'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Select, TextArea, TextField } from '@/components/Field'
import type { FormField, Skill } from '@/lib/api'
import type { Conversation } from './conversation'
import type { Question } from './conversationState'
import { draftAtom } from './drafts'
import { fieldMessages } from './failures'
import { checkForm, type FormValues, filled, lengthOf, limitOf, renderForm } from './formValues'
import styles from './Start.module.css'
import { texts } from './texts'

/** The form of a skill. What is filled in stays until the server has it, over reloads and other pages. */
export function SkillForm({
  skill,
  conversation,
  disabled,
  draft = `form:${skill.id}`,
  initial = {},
  onAsk,
  onCancel,
}: {
  skill: Skill
  conversation: Conversation
  disabled: boolean
  /** Where what is filled in is kept, and what stands there at first. */
  draft?: string
  initial?: FormValues
  onAsk: (question: Question) => void
  onCancel?: () => void
}) {
  const [values, setValue, clear] = useValues(draft, initial)
  const { failure } = useAtomValue(conversation.stateAtom)
  const [tried, setTried] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const wrong = { ...fieldMessages(failure?.cause), ...(tried && checkForm(skill, values)) }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    const first = Object.keys(checkForm(skill, values))[0]
    if (first !== undefined) {
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus()
      return
    }
    onAsk({ kind: 'form', form: filled(skill, values), content: renderForm(skill, values), onTaken: clear })
  }

  return (
    <form className={styles.form} ref={form} onSubmit={submit} noValidate>
      {skill.form_fields.map((field) => (
        <FormControl
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          error={wrong[field.name]}
          disabled={disabled}
          onChange={(value) => setValue(field.name, value)}
        />
      ))}
      <div className={styles.submit}>
        {onCancel && (
          <Button size="lg" onClick={onCancel}>
            {texts.edit.cancel}
          </Button>
        )}
        <Button variant="primary" size="lg" type="submit" disabled={disabled}>
          {onCancel ? texts.edit.send : texts.form.submit}
        </Button>
      </div>
    </form>
  )
}

function useValues(
  key: string,
  initial: FormValues,
): [FormValues, (name: string, value: string) => void, () => void] {
  const [draft, setDraft] = useAtom(draftAtom(key))
  const values = draft === '' ? initial : parse(draft)
  return [values, (name, value) => setDraft(JSON.stringify({ ...values, [name]: value })), () => setDraft('')]
}

function parse(draft: string): FormValues {
  try {
    const value: unknown = JSON.parse(draft)
    if (value === null || typeof value !== 'object') return {}
    return Object.fromEntries(Object.entries(value).filter(([, item]) => typeof item === 'string'))
  } catch {
    return {}
  }
}

interface ControlProps {
  readonly field: FormField
  readonly value: string
  readonly error: string | undefined
  readonly disabled: boolean
  readonly onChange: (value: string) => void
}

function FormControl({ field, value, error, disabled, onChange }: ControlProps) {
  const common = {
    label: field.label,
    name: field.name,
    error,
    optional: !field.required,
    required: field.required,
    disabled,
    value,
  }
  const count = counted(field, value)
  const hint = count && <span className={styles.counter}>{count}</span>
  switch (field.type) {
    case 'textarea':
      return (
        <TextArea
          {...common}
          hint={hint}
          rows={5}
          placeholder={field.placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case 'select':
      return (
        <Select {...common} onChange={(event) => onChange(event.target.value)}>
          <option value="">{field.placeholder || texts.form.select}</option>
          {field.options?.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </Select>
      )
    default:
      return (
        <TextField
          {...common}
          hint={hint}
          inputMode={field.type === 'number' ? 'decimal' : 'text'}
          placeholder={field.placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

/** Counts once something long is being written; short fields say so only when they are nearly full. '' otherwise. */
function counted(field: FormField, value: string): string {
  const limit = limitOf(field)
  const length = value.length > limit / 2 ? lengthOf(value) : value.length
  const shown = field.type === 'textarea' ? length > 0 : length > limit * 0.8
  return shown ? texts.form.counter(length, limit) : ''
}
