import { Search } from 'lucide-react'
import { Fragment, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { Dialog } from '@/components/Dialog'
import { Snippet } from '@/components/Snippet'
import { ime, isEnter } from '@/lib/ui/ime'
import styles from './Palette.module.css'
import { texts } from './texts'
import { type PaletteItem, usePaletteItems } from './usePaletteItems'

/** Palette finds threads, skills and actions while typing. The arrow keys select an item, Enter opens it. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const { items, asking } = usePaletteItems(query)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const index = Math.min(chosen, items.length - 1)

  // biome-ignore lint/correctness/useExhaustiveDependencies: The effect scrolls to the selected item when it changes.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [index])

  const run = (item: PaletteItem | undefined) => {
    if (!item) return
    onClose()
    item.run()
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (ime.isComposing(event)) return
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && items.length > 0) {
      event.preventDefault()
      setChosen((index + step + items.length) % items.length)
    } else if (isEnter(event)) {
      event.preventDefault()
      run(items[index])
    }
  }

  return (
    <Dialog title={texts.palette} hideTitle wide className={styles.palette} onClose={onClose}>
      <div className={styles.field}>
        <Search size={18} aria-hidden />
        <input
          type="text"
          role="combobox"
          aria-label={texts.placeholder}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={items[index] ? `${id}-${items[index].id}` : undefined}
          autoComplete="off"
          spellCheck={false}
          autoFocus
          placeholder={texts.placeholder}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value)
            setChosen(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div className={styles.list} id={id} role="listbox" aria-label={texts.results} ref={list}>
        {items.map((item, at) => (
          <Fragment key={item.id}>
            {item.group !== items[at - 1]?.group && (
              <div className={styles.group} role="presentation">
                {item.group}
              </div>
            )}
            <Row
              id={`${id}-${item.id}`}
              item={item}
              selected={at === index}
              onHover={() => setChosen(at)}
              onRun={run}
            />
          </Fragment>
        ))}
      </div>
      {items.length === 0 && <p className={styles.empty}>{asking ? texts.asking : texts.empty}</p>}
      <p className="visually-hidden" role="status">
        {query !== '' && !asking && texts.count(items.length)}
      </p>
    </Dialog>
  )
}

interface RowProps {
  id: string
  item: PaletteItem
  selected: boolean
  onHover: () => void
  onRun: (item: PaletteItem) => void
}

function Row({ id, item, selected, onHover, onRun }: RowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: The focused field handles the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: The field has the focus and uses aria-activedescendant.
    <div
      id={id}
      role="option"
      aria-selected={selected}
      className={styles.row}
      onPointerMove={onHover}
      onClick={() => onRun(item)}
    >
      {item.icon}
      <span className={styles.label}>
        {item.label}
        {item.found && (
          <span className={styles.found}>
            <Snippet text={item.found.snippet} ranges={item.found.ranges} />
          </span>
        )}
      </span>
      {item.note && <span className={styles.note}>{item.note}</span>}
    </div>
  )
}
