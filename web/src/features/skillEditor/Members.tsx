import { X } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { SearchField } from '@/components/SearchField'
import { ErrorState } from '@/components/States'
import type { SkillMember } from '@/lib/api'
import { useList } from '@/lib/api/lists'
import { Checkbox } from '@/lib/ui/Checkbox'
import { useDebounced } from '@/lib/ui/debounced'
import styles from './Editor.module.css'
import { membersQuery } from './queries'
import { texts } from './texts'

const words = texts.editor

interface MembersProps {
  readonly chosen: readonly SkillMember[]
  readonly error: string | undefined
  readonly onChange: (members: SkillMember[]) => void
}

/** Members chooses the members who may use a skill, with a search over the organization. */
export function Members({ chosen, error, onChange }: MembersProps) {
  const field = useRef<HTMLFieldSetElement>(null)
  const [query, setQuery] = useState('')
  const q = useDebounced(query.trim())
  const { items, loaded, asking, error: failed, hasMore, loadMore, retry } = useList(membersQuery(q))
  const remove = (id: string) => onChange(chosen.filter((member) => member.id !== id))
  return (
    <fieldset className={styles.checks} ref={field}>
      <legend>{words.members}</legend>
      <ul className={styles.chosen} aria-label={words.chosen(chosen.length)}>
        {chosen.map(({ id, name }) => (
          <li key={id}>
            {name}
            <button
              type="button"
              aria-label={words.removeMember(name)}
              onClick={() => {
                remove(id)
                field.current?.querySelector('input')?.focus()
              }}
            >
              <X size={14} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      <SearchField
        label={words.searchMembers}
        clearLabel={words.clearSearch}
        size="sm"
        value={query}
        onChange={setQuery}
      />
      <div className={styles.scroll}>
        {items.map(({ id, name, email }) => (
          <label key={id}>
            <Checkbox
              checked={chosen.some((member) => member.id === id)}
              onChange={(event) =>
                event.target.checked ? onChange([...chosen, { id, name, email }]) : remove(id)
              }
            />
            {name}
            <small>{email}</small>
          </label>
        ))}
        {hasMore && !failed && (
          <Button size="sm" loading={asking} onClick={loadMore}>
            {texts.more}
          </Button>
        )}
        {failed && <ErrorState onRetry={retry} />}
      </div>
      <p className={styles.hint} role="status">
        {!loaded && !failed ? texts.loading : loaded && items.length === 0 && words.noMembers}
      </p>
      <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
    </fieldset>
  )
}
