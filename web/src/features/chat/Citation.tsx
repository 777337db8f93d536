import { createContext, useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { hasPictures } from '@/entities/source/files'
import type { CitationProps } from '@/lib/markdown'
import { keepBeside } from '@/lib/ui/anchored'
import { cx } from '@/lib/ui/cx'
import styles from './Citation.module.css'
import { canOpen, type Source, spokenTitle } from './citations'
import { texts } from './texts'

/** The sources of one answer by their numbers, and what opens one. */
export interface Citations {
  readonly byIndex: ReadonlyMap<number, Source>
  readonly open: (source: Source) => void
}

export const CitationsContext = createContext<Citations | null>(null)

/** How long the pointer rests on a citation before its card comes, in milliseconds. */
const REST_MS = 250

/** `[1]` in an answer: a small button that opens the passage. A number without a source stays text. */
export function Citation({ index }: CitationProps) {
  const citations = useContext(CitationsContext)
  const source = citations?.byIndex.get(index)
  if (citations == null || source === undefined) return `[${index}]`
  return <CitationButton source={source} onOpen={() => citations.open(source)} />
}

function CitationButton({ source, onOpen }: { source: Source; onOpen: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  const [shown, setShown] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const hide = () => {
    clearTimeout(timer.current)
    setShown(false)
  }
  const id = useId()
  return (
    <span className={styles.place}>
      <button
        ref={button}
        type="button"
        className={cx(styles.citation, source.support === 'weak' && styles.weak)}
        aria-label={spokenTitle(source)}
        aria-describedby={shown ? id : undefined}
        data-citation={source.index}
        onClick={() => {
          hide()
          if (canOpen(source)) onOpen()
          else setShown(!shown)
        }}
        onPointerEnter={({ pointerType }) => {
          if (pointerType === 'touch') return
          timer.current = setTimeout(() => setShown(true), REST_MS)
        }}
        onPointerLeave={hide}
        onFocus={({ currentTarget }) => setShown(currentTarget.matches(':focus-visible'))}
        onBlur={hide}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !shown) return
          event.preventDefault()
          hide()
        }}
      >
        {/* The brackets are not seen, and copied with the text. */}
        <span className={styles.bracket}>[</span>
        {source.index}
        <span className={styles.bracket}>]</span>
      </button>
      {shown && button.current && (
        <Card id={id} source={source} anchor={button.current} onGone={() => setShown(false)} />
      )}
    </span>
  )
}

/** What stands at a citation's place, beside the citation. It is only to be read: the button opens the place itself. */
function Card({
  id,
  source,
  anchor,
  onGone,
}: {
  id: string
  source: Source
  anchor: HTMLElement
  onGone: () => void
}) {
  const card = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the callback for a lost anchor does the same each time.
  useLayoutEffect(
    () => (card.current ? keepBeside(card.current, anchor, 'top', 'start', onGone) : undefined),
    [anchor],
  )
  const { name, page, locator, quote, support } = source
  const place = [hasPictures(name) && page > 0 && texts.page(page), locator].filter(Boolean).join('・')
  return createPortal(
    <div ref={card} id={id} className={styles.card} role="tooltip">
      <p className={styles.file}>{name}</p>
      {place && <p className={styles.where}>{place}</p>}
      {quote && <p className={styles.quote}>{quote}</p>}
      {!canOpen(source) && <p className={styles.where}>{texts.citation.ofSkill}</p>}
      {support === 'weak' && (
        <p className={styles.check}>
          <strong>{texts.citation.weak}</strong>
          {texts.citation.weakHint}
        </p>
      )}
    </div>,
    document.body,
  )
}
