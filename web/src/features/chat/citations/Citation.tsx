import {
  createContext,
  type FocusEvent,
  type KeyboardEvent,
  type PointerEvent,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { PageLink } from '@/components/PageLink'
import { hasPictures } from '@/entities/source/files'
import type { CitationProps } from '@/lib/markdown'
import { keepBeside } from '@/lib/ui/anchored'
import { cx } from '@/lib/ui/cx'
import { texts } from '../texts'
import styles from './Citation.module.css'
import { canOpen, placeOf, quoteOf, type Source, spokenTitle } from './citations'

/** Citations are the sources of one answer by number, with a function that opens a passage. */
export interface Citations {
  readonly byIndex: ReadonlyMap<number, Source>
  readonly open: (source: Source) => void
}

export const CitationsContext = createContext<Citations | null>(null)

/** The delay before a hovered citation shows its card, in milliseconds. */
const REST_MS = 250

/**
 * Citation renders `[1]` in an answer as a button that opens the passage, or as a link to the web page. A number
 * without a source stays text.
 */
export function Citation({ index, weak }: CitationProps) {
  const citations = useContext(CitationsContext)
  const source = citations?.byIndex.get(index)
  if (citations == null || source === undefined) return `[${index}]`
  return <CitationMark source={source} weak={weak} onOpen={() => citations.open(source)} />
}

function CitationMark({ source, weak, onOpen }: { source: Source; weak: boolean; onOpen: () => void }) {
  const mark = useRef<HTMLElement>(null)
  const [shown, setShown] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const hide = () => {
    clearTimeout(timer.current)
    setShown(false)
  }
  const id = useId()
  const shared = {
    ref: (element: HTMLElement | null) => {
      mark.current = element
    },
    className: cx(styles.citation, weak && styles.weak),
    'aria-label': spokenTitle(source, weak ? texts.citation.weak : ''),
    'aria-describedby': shown ? id : undefined,
    'data-citation': source.index,
    onPointerEnter: ({ pointerType }: PointerEvent) => {
      if (pointerType === 'touch') return
      timer.current = setTimeout(() => setShown(true), REST_MS)
    },
    onPointerLeave: hide,
    onFocus: ({ currentTarget }: FocusEvent) => setShown(currentTarget.matches(':focus-visible')),
    onBlur: hide,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !shown) return
      event.preventDefault()
      hide()
    },
    // The brackets are invisible but are copied with the text.
    children: (
      <>
        <span className={styles.bracket}>[</span>
        {source.index}
        <span className={styles.bracket}>]</span>
      </>
    ),
  }
  const open = () => {
    hide()
    if (canOpen(source)) onOpen()
    else setShown(!shown)
  }
  return (
    <span className={styles.place}>
      {source.url === null ? (
        <button type="button" onClick={open} {...shared} />
      ) : (
        <PageLink url={source.url} onClick={hide} {...shared} />
      )}
      {shown && mark.current && (
        <Card id={id} source={source} weak={weak} anchor={mark.current} onGone={() => setShown(false)} />
      )}
    </span>
  )
}

/** Card shows the cited text next to the citation. It is not interactive: the citation itself opens the source. */
function Card({
  id,
  source,
  weak,
  anchor,
  onGone,
}: {
  id: string
  source: Source
  weak: boolean
  anchor: HTMLElement
  onGone: () => void
}) {
  const card = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: every callback for a lost anchor does the same.
  useLayoutEffect(
    () => (card.current ? keepBeside(card.current, anchor, 'top', 'start', onGone) : undefined),
    [anchor],
  )
  const { filename, page, locator, url } = source
  const quote = quoteOf(source)
  const inFile = [hasPictures(filename) && page > 0 && texts.page(page), locator].filter(Boolean).join('・')
  const place = url === null ? inFile : placeOf(source)
  return createPortal(
    <div ref={card} id={id} className={styles.card} role="tooltip">
      <p className={styles.file}>{filename}</p>
      {place && <p className={styles.where}>{place}</p>}
      {quote && <p className={styles.quote}>{quote}</p>}
      {!canOpen(source) && !source.deleted && <p className={styles.where}>{texts.citation.ofSkill}</p>}
      {weak && (
        <p className={styles.check}>
          <strong>{texts.citation.weak}</strong>
          {texts.citation.weakHint}
        </p>
      )}
    </div>,
    document.body,
  )
}
