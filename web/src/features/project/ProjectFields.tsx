import { TextArea, TextField } from '@/components/Field'
import { texts } from './texts'

const words = texts.create

/** The name and the description of a project, as in a form. */
interface ProjectValues {
  readonly name: string
  readonly description: string
}

/** ProjectFields edits the description of a project and, unless `named` is false, its name. */
export function ProjectFields({
  values,
  wrong,
  named = true,
  onChange,
}: {
  values: ProjectValues
  wrong: { readonly [name in keyof ProjectValues]?: string | undefined }
  named?: boolean
  onChange: (change: Partial<ProjectValues>) => void
}) {
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
          onChange={(event) => onChange({ name: event.target.value })}
        />
      )}
      <TextArea
        label={words.description}
        optional
        value={values.description}
        maxLength={1000}
        error={wrong.description}
        onChange={(event) => onChange({ description: event.target.value })}
      />
    </>
  )
}
