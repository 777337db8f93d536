import { useQuery } from '@tanstack/react-query'
import chooser from '@/components/Chooser.module.css'
import { FieldErrorText } from '@/components/Field'
import type { SkillDocument } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import styles from './Editor.module.css'
import { documentsQuery } from './queries'
import { texts } from './texts'

const words = texts.editor

interface DocumentsProps {
  readonly chosen: readonly string[]
  /** The documents that the skill already has; some may belong to another user. */
  readonly saved: readonly SkillDocument[]
  /** The number of documents that no longer exist since the skill was last saved. */
  readonly missing: number
  readonly error: string | undefined
  readonly onChange: (ids: string[]) => void
}

/** Documents chooses the documents that the skill uses for every answer. */
export function Documents({ chosen, saved, missing, error, onChange }: DocumentsProps) {
  const own = useQuery(documentsQuery).data ?? []
  const others = saved.filter(({ id }) => !own.some((source) => source.id === id))
  const list = [
    ...others.map(({ id, filename, owner_name }) => ({
      id,
      filename,
      note: owner_name ? words.of(owner_name) : words.ofSkill,
    })),
    ...own.map(({ id, filename }) => ({ id, filename, note: '' })),
  ]
  return (
    <fieldset className={chooser.chooser}>
      <legend>{words.documents}</legend>
      <p className={styles.hint}>{list.length === 0 ? words.noDocuments : words.documentsHint}</p>
      {missing > 0 && <FieldErrorText>{words.missing(missing)}</FieldErrorText>}
      <div className={chooser.scroll}>
        {list.map(({ id, filename, note }) => (
          <label key={id}>
            <Checkbox
              checked={chosen.includes(id)}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
              }
            />
            {filename}
            {note && <small>{note}</small>}
          </label>
        ))}
      </div>
      <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
    </fieldset>
  )
}
