import { TextArea, TextField } from '@/components/Field'
import type { FormErrors } from '@/lib/ui/form'
import { texts } from './texts'

const words = texts.create

interface ProjectFieldsProps {
  readonly values: { readonly name: string; readonly description: string }
  readonly wrong: FormErrors<ProjectFieldsProps['values']>
  /** Whether the name can be changed, too. */
  readonly named?: boolean
  readonly onChange: (change: { name?: string; description?: string }) => void
}

/** ProjectFields edits the name and the description of a project. */
export function ProjectFields({ values, wrong, named = true, onChange }: ProjectFieldsProps) {
  return (
    <>
      {named && (
        <TextField
          label={words.name}
          value={values.name}
          maxLength={100}
          placeholder={words.example}
          autoComplete="off"
          error={wrong.name}
          onChange={({ target }) => onChange({ name: target.value })}
        />
      )}
      <TextArea
        label={words.description}
        optional
        value={values.description}
        maxLength={1000}
        error={wrong.description}
        onChange={({ target }) => onChange({ description: target.value })}
      />
    </>
  )
}
