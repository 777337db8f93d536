import { Chooser } from '@/components/Chooser'
import { Select } from '@/components/Field'
import { groupsQuery } from '@/entities/group/groups'
import type { SkillAudience } from '@/lib/api'
import type { Draft } from './content'
import { membersQuery } from './queries'
import { texts } from './texts'

const words = texts.editor

interface AudienceFieldsProps {
  readonly draft: Draft
  /** The skill is saved: a personal skill cannot change its audience. */
  readonly fixed: boolean
  readonly errorOf: (field: string) => string | undefined
  readonly onChange: (draft: Draft) => void
}

/** AudienceFields lets administrators choose who may use a skill. */
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
        options={choices.map((audience) => [audience, words.audiences[audience]])}
      />
      {draft.audience === 'members' && (
        <>
          <Chooser
            words={words.members}
            query={membersQuery}
            chosen={draft.members}
            error={errorOf('member_ids')}
            onChange={(members) => onChange({ ...draft, members })}
          />
          <Chooser
            words={words.groups}
            query={groupsQuery}
            chosen={draft.groups}
            error={errorOf('group_ids')}
            onChange={(groups) => onChange({ ...draft, groups })}
          />
        </>
      )}
    </>
  )
}
