import { X } from 'lucide-react'
import { useRef, useState } from 'react'
import { type ListQuery, useList } from '@/lib/api/lists'
import { Checkbox } from '@/lib/ui/Checkbox'
import { useDebounced } from '@/lib/ui/debounced'
import { Button } from './Button'
import styles from './Chooser.module.css'
import { FieldErrorText } from './Field'
import { SearchField } from './SearchField'
import { ErrorState } from './States'

/** Choosable is something that a Chooser offers. */
export interface Choosable {
  readonly id: string
  readonly name: string
  /** Distinguishes items with the same name. */
  readonly email?: string
}

interface ChooserProps<T extends Choosable> {
  readonly words: { label: string; search: string; none: string }
  readonly chosen: readonly T[]
  /** The query of the items that match a search text. */
  readonly query: (q: string) => ListQuery<T>
  readonly error?: string | undefined
  readonly onChange: (chosen: T[]) => void
}

/** Chooser chooses items of a long list, such as members or groups, with a search. */
export function Chooser<T extends Choosable>({ words, chosen, query, error, onChange }: ChooserProps<T>) {
  const field = useRef<HTMLFieldSetElement>(null)
  const [text, setText] = useState('')
  const q = useDebounced(text.trim())
  const { items, loaded, asking, error: failed, hasMore, loadMore, retry } = useList(query(q))
  const remove = (id: string) => onChange(chosen.filter((item) => item.id !== id))
  return (
    <fieldset className={styles.chooser} ref={field}>
      <legend>{words.label}</legend>
      <ul className={styles.chosen} aria-label={`選択中：${chosen.length}件`}>
        {chosen.map(({ id, name }) => (
          <li key={id}>
            {name}
            <button
              type="button"
              aria-label={`${name}を選択から外す`}
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
      <SearchField label={words.search} size="sm" value={text} onChange={setText} />
      <div className={styles.scroll}>
        {items.map((item) => (
          <label key={item.id}>
            <Checkbox
              checked={chosen.some(({ id }) => id === item.id)}
              onChange={(event) => (event.target.checked ? onChange([...chosen, item]) : remove(item.id))}
            />
            {item.name}
            {item.email && <small>{item.email}</small>}
          </label>
        ))}
        {hasMore && !failed && (
          <Button size="sm" loading={asking} onClick={loadMore}>
            さらに表示
          </Button>
        )}
        {failed && <ErrorState onRetry={retry} />}
      </div>
      <p className={styles.hint} role="status">
        {!loaded && !failed ? '読み込み中...' : loaded && items.length === 0 && words.none}
      </p>
      <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
    </fieldset>
  )
}
