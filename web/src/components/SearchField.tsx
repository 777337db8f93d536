import { Search, X } from 'lucide-react'
import { type KeyboardEvent, useRef } from 'react'
import { cx } from '@/lib/ui/cx'
import { ime } from '@/lib/ui/ime'
import styles from './SearchField.module.css'

/** The server refuses a longer text in most searches. */
const MAX_LENGTH = 100

interface SearchFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
  size?: 'sm' | 'md'
  onKeyDown?: (event: KeyboardEvent<HTMLInputElement>) => void
}

/** A field that filters the list below it while typing. Esc clears it. */
export function SearchField({ label, value, onChange, size = 'md', onKeyDown }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  return (
    <search className={cx(styles.box, size === 'sm' && styles.sm)}>
      <Search size={size === 'sm' ? 15 : 17} aria-hidden />
      <input
        ref={field}
        type="text"
        inputMode="search"
        enterKeyHint="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={MAX_LENGTH}
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && value !== '' && !ime.isComposing(event)) {
            event.stopPropagation()
            onChange('')
          }
          onKeyDown?.(event)
        }}
      />
      {value !== '' && (
        <button
          type="button"
          aria-label="検索語を消去"
          onClick={() => {
            onChange('')
            field.current?.focus()
          }}
        >
          <X size={15} aria-hidden />
        </button>
      )}
    </search>
  )
}
