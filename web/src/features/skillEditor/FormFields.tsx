import { Trash2 } from 'lucide-react'
import { Button } from '@/components/Button'
import { Select, TextArea, TextField } from '@/components/Field'
import { IconButton } from '@/components/IconButton'
import type { FormField } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { type ContentProps, linesOf, nextFieldName } from './content'
import styles from './Editor.module.css'
import { texts } from './texts'

const words = texts.editor
const types = Object.entries(words.types) as [FormField['type'], string][]

/** FormFields edits the fields of a skill's form, which are the variables of its prompt. */
export function FormFields({ content, errorOf, onChange }: ContentProps) {
  const fields = content.form_fields
  const set = (form_fields: FormField[]) => onChange({ ...content, form_fields })
  const add = () =>
    onChange({
      ...content,
      suggestions: [],
      form_fields: [
        ...fields,
        { name: nextFieldName(content), label: '', type: 'text', required: true, options: [] },
      ],
    })
  return (
    <fieldset className={styles.fields}>
      <legend>{words.fields}</legend>
      <p className={styles.hint}>{words.fieldsLead}</p>
      {fields.map((field, index) => (
        <FieldCard
          key={field.name}
          field={field}
          errorOf={(name) => errorOf(`form_fields[${index}].${name}`)}
          onChange={(next) => set(fields.map((other) => (other === field ? next : other)))}
          onRemove={() => set(fields.filter((other) => other !== field))}
        />
      ))}
      <Button size="sm" onClick={add}>
        {words.addField}
      </Button>
    </fieldset>
  )
}

interface FieldCardProps {
  readonly field: FormField
  readonly errorOf: (name: string) => string | undefined
  readonly onChange: (field: FormField) => void
  readonly onRemove: () => void
}

function FieldCard({ field, errorOf, onChange, onRemove }: FieldCardProps) {
  const set = (change: Partial<FormField>) => onChange({ ...field, ...change })
  return (
    <div className={styles.card}>
      <TextField
        label={words.label}
        error={errorOf('label')}
        value={field.label}
        onChange={(event) => set({ label: event.target.value })}
      />
      <Select
        label={words.type}
        value={field.type}
        onChange={(event) => set({ type: event.target.value as FormField['type'], options: [] })}
        options={types}
      />
      {field.type === 'select' && (
        <TextArea
          label={words.options}
          rows={3}
          error={errorOf('options')}
          value={(field.options ?? []).join('\n')}
          onChange={(event) => set({ options: linesOf(event.target.value) })}
        />
      )}
      {(field.type === 'text' || field.type === 'textarea') && (
        <TextField
          label={words.placeholder}
          optional
          error={errorOf('placeholder')}
          value={field.placeholder ?? ''}
          onChange={(event) => set({ placeholder: event.target.value })}
        />
      )}
      <div className={styles.cardFoot}>
        <label className={styles.check}>
          <Checkbox checked={field.required} onChange={(event) => set({ required: event.target.checked })} />
          {words.required}
        </label>
        <IconButton label={words.removeField(field.label)} onClick={onRemove}>
          <Trash2 size={16} />
        </IconButton>
      </div>
    </div>
  )
}
