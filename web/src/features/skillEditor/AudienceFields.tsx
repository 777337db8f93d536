import { useQuery } from '@tanstack/react-query'
import { FieldErrorText, Select } from '@/components/Field'
import type { SkillAudience } from '@/lib/api'
import { listMembers } from '@/lib/api/admin'
import type { Draft } from './content'
import styles from './Editor.module.css'
import { texts } from './texts'

const words = texts.editor

interface AudienceFieldsProps {
  readonly draft: Draft
  /** It is saved: a skill of one's own stays one's own. */
  readonly fixed: boolean
  readonly errorOf: (field: string) => string | undefined
  readonly onChange: (draft: Draft) => void
}

/** Who may use a skill, for administrators. */
export function AudienceFields({ draft, fixed, errorOf, onChange }: AudienceFieldsProps) {
  const choices: SkillAudience[] = !fixed
    ? ['self', 'organization', 'members']
    : draft.audience === 'self'
      ? ['self']
      : ['organization', 'members']
  return (
    <>
      <Select
        label={words.audience}
        error={errorOf('audience')}
        value={draft.audience}
        onChange={(event) => onChange({ ...draft, audience: event.target.value as SkillAudience })}
      >
        {choices.map((audience) => (
          <option key={audience} value={audience}>
            {words.audiences[audience]}
          </option>
        ))}
      </Select>
      {draft.audience === 'members' && (
        <Members
          chosen={draft.memberIds}
          error={errorOf('member_ids')}
          onChange={(memberIds) => onChange({ ...draft, memberIds })}
        />
      )}
    </>
  )
}

interface MembersProps {
  readonly chosen: readonly string[]
  readonly error: string | undefined
  readonly onChange: (ids: string[]) => void
}

function Members({ chosen, error, onChange }: MembersProps) {
  const members = useQuery({
    queryKey: ['skill-members'],
    queryFn: ({ signal }) => listMembers({ offset: 0, limit: 100 }, signal),
  })
  return (
    <fieldset className={styles.checks}>
      <legend>{words.members}</legend>
      {members.data?.items.map(({ id, name, email }) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
            }
          />
          {name}
          <small>{email}</small>
        </label>
      ))}
      <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
    </fieldset>
  )
}
