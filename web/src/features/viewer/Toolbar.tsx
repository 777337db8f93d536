import { ChevronDown, ChevronLeft, ChevronRight, ChevronUp, Maximize, Minus, Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { IconButton } from '@/components/IconButton'
import { pageUnit } from '@/entities/source/files'
import { isEnter } from '@/lib/ui/ime'
import { formatNumber } from '@/lib/ui/numbers'
import type { SourcePlace } from '@/lib/ui/sourcePlace'
import { texts } from './texts'
import styles from './Viewer.module.css'
import { stepZoom, type Zoom } from './zoom'

interface ToolbarProps {
  readonly filename: string
  readonly page: number
  readonly pages: number
  readonly onPage: (page: number) => void
  /** The index of the current citation, from 0, and the number of citations. */
  readonly at: number
  readonly citations: readonly SourcePlace[]
  readonly onCitation: (by: 1 | -1) => void
  /** Undefined if the view has no zoom. */
  readonly zoom: Zoom | undefined
  /** The rendered zoom. */
  readonly scale: number
  readonly onZoom: (zoom: Zoom) => void
}

/** Toolbar has the buttons to turn pages, to step through citations and to zoom. */
export function Toolbar(props: ToolbarProps) {
  const { pages, citations, zoom } = props
  if (pages < 2 && citations.length < 2 && zoom === undefined) return null
  return (
    <div className={styles.tools} role="group" aria-label={texts.tools}>
      {pages > 1 && <Pages {...props} />}
      {citations.length > 1 && <Citations {...props} />}
      {zoom !== undefined && <Zooms {...props} zoom={zoom} />}
    </div>
  )
}

function Pages({ filename, page, pages, onPage }: ToolbarProps) {
  const words = texts.pages[pageUnit(filename)]
  return (
    <div className={styles.group}>
      <Step label={words.previous} keys="←" off={page <= 1} onStep={() => onPage(page - 1)}>
        <ChevronLeft size={18} />
      </Step>
      <PageField key={page} label={words.field} page={page} pages={pages} onPage={onPage} />
      <Step label={words.next} keys="→" off={page >= pages} onStep={() => onPage(page + 1)}>
        <ChevronRight size={18} />
      </Step>
    </div>
  )
}

/** PageField shows the page number and accepts another one. */
function PageField({
  label,
  page,
  pages,
  onPage,
}: {
  label: string
  page: number
  pages: number
  onPage: (page: number) => void
}) {
  const [typed, setTyped] = useState(String(page))
  const go = () => {
    const wanted = Number(typed.normalize('NFKC'))
    if (Number.isInteger(wanted) && wanted >= 1) onPage(Math.min(pages, wanted))
    else setTyped(String(page))
  }
  return (
    <span className={styles.number}>
      <input
        type="text"
        inputMode="numeric"
        autoComplete="off"
        aria-label={label}
        value={typed}
        size={Math.max(2, String(pages).length)}
        onChange={(event) => setTyped(event.target.value)}
        onFocus={(event) => event.currentTarget.select()}
        onBlur={() => setTyped(String(page))}
        onKeyDown={(event) => {
          if (!isEnter(event)) return
          event.preventDefault()
          go()
        }}
      />
      <span>/ {formatNumber(pages)}</span>
    </span>
  )
}

function Citations({ at, citations, onCitation }: ToolbarProps) {
  const words = texts.citations
  return (
    <div className={styles.group}>
      <Step label={words.previous} keys="[" off={at === 0} onStep={() => onCitation(-1)}>
        <ChevronUp size={18} />
      </Step>
      <span className={styles.count}>{words.at(citations[at]?.index, at + 1, citations.length)}</span>
      <Step label={words.next} keys="]" off={at === citations.length - 1} onStep={() => onCitation(1)}>
        <ChevronDown size={18} />
      </Step>
    </div>
  )
}

function Zooms({ zoom, scale, onZoom }: ToolbarProps & { zoom: Zoom }) {
  const words = texts.zoom
  return (
    <div className={styles.group} data-zoom>
      <Step
        label={words.out}
        keys="-"
        off={scale <= stepZoom(0, false)}
        onStep={() => onZoom(stepZoom(scale, false))}
      >
        <Minus size={16} />
      </Step>
      <button
        type="button"
        className={styles.percent}
        aria-label={`${words.percent(scale)} ${words.width}`}
        onClick={() => onZoom(1)}
      >
        {words.percent(scale)}
      </button>
      <Step
        label={words.in}
        keys="+"
        off={scale >= stepZoom(99, true)}
        onStep={() => onZoom(stepZoom(scale, true))}
      >
        <Plus size={16} />
      </Step>
      <IconButton
        size="sm"
        label={words.whole}
        aria-pressed={zoom === 'whole'}
        onClick={() => onZoom(zoom === 'whole' ? 1 : 'whole')}
      >
        <Maximize size={16} />
      </IconButton>
    </div>
  )
}

/** Step is a button that moves by one. At the end it keeps the focus, which a disabled button would lose. */
function Step({
  label,
  keys,
  off,
  onStep,
  children,
}: {
  label: string
  keys: string
  off: boolean
  onStep: () => void
  children: ReactNode
}) {
  return (
    <IconButton
      size="sm"
      label={label}
      shortcut={keys}
      aria-disabled={off || undefined}
      onClick={off ? undefined : onStep}
    >
      {children}
    </IconButton>
  )
}
