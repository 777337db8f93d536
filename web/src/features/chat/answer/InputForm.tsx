import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { FieldErrorText, Select, TextArea, TextField } from '@/components/Field'
import type { ToolApproval, ToolInput, ToolInputField } from '@/lib/api'
import styles from './ApprovalCard.module.css'
import { texts as cardTexts } from './approvalTexts'
import { InputChoices } from './InputChoices'
import {
  checkInput,
  choicesOf,
  type InputValue,
  type InputValues,
  initialInput,
  pathOf,
  textOf,
  toResponse,
} from './inputValues'
import { useDecide } from './useDecide'

const texts = cardTexts.inputs

/** InputForm shows the forms of a tool that asks for input, and sends the person's response. */
export function InputForm({ waiting, input }: { waiting: ToolApproval; input: ToolInput }) {
  const [values, setValues] = useState<InputValues>(() => initialInput(input))
  const [tried, setTried] = useState(false)
  const { decide, sending, error, fields } = useDecide(waiting)
  const form = useRef<HTMLFormElement>(null)
  const wrong = { ...fields, ...(tried && checkInput(input, values)) }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    const first = Object.keys(checkInput(input, values))[0]
    if (first === undefined) decide({ approved: true, input: toResponse(input, values) })
    else form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus()
  }
  const close = (action: 'decline' | 'cancel') => decide({ approved: false, input: { action } })
  return (
    <form className={styles.decision} ref={form} onSubmit={submit} noValidate>
      {input.forms.map(({ id, message, fields: of }) => (
        <fieldset key={id} className={styles.asked}>
          {message && <legend className={styles.message}>{message}</legend>}
          {of.map((field) => {
            const path = pathOf(id, field)
            const onChange = (value: InputValue) => setValues({ ...values, [path]: value })
            const common = { name: path, field, error: wrong[path], onChange }
            return field.type === 'choices' ? (
              <InputChoices key={path} {...common} value={choicesOf(values[path])} />
            ) : (
              <InputControl key={path} {...common} value={textOf(values[path])} />
            )
          })}
        </fieldset>
      ))}
      {error && <FieldErrorText>{error}</FieldErrorText>}
      <div className={styles.buttons}>
        <Button type="submit" variant="primary" loading={sending}>
          {texts.send}
        </Button>
        <Button disabled={sending} onClick={() => close('decline')}>
          {texts.decline}
        </Button>
        <Button variant="quiet" disabled={sending} onClick={() => close('cancel')}>
          {texts.cancel}
        </Button>
      </div>
    </form>
  )
}

/** The types of inputs for the formats of texts. */
const inputTypes: Readonly<Record<string, string>> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
}

/** Texts that may be longer than this have several lines. */
const longText = 200

/** InputControl is a field of a tool's form with one value. */
function InputControl({
  name,
  field,
  value,
  error,
  onChange,
}: {
  name: string
  field: ToolInputField
  value: string
  error: string | undefined
  onChange: (value: string) => void
}) {
  const { label, description: hint, type, required, max_length = 0 } = field
  const common = { label, hint, error, name, value, optional: !required }
  if (type === 'boolean')
    return (
      <Choice
        label={label}
        hint={hint}
        checked={value === 'true'}
        onChange={(checked) => onChange(String(checked))}
      />
    )
  if (type === 'choice')
    return (
      <Select
        {...common}
        onChange={(event) => onChange(event.target.value)}
        options={field.options?.map((option) => [option.value, option.label])}
      >
        <option value="">{texts.choose}</option>
      </Select>
    )
  if (type === 'string' && max_length > longText && !field.format)
    return <TextArea {...common} rows={3} onChange={(event) => onChange(event.target.value)} />
  return (
    <TextField
      {...common}
      type={type === 'string' ? (inputTypes[field.format ?? ''] ?? 'text') : 'text'}
      inputMode={type === 'string' ? undefined : 'decimal'}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
