import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { useSource } from '@/entities/source/dataSources'
import { hasPictures, pageUnit } from '@/entities/source/files'
import { queryClient } from '@/lib/api/queries'
import type { SourcePlace } from '@/lib/ui/sourcePlace'
import { Content } from './Content'
import { Frame } from './Frame'
import { Head, type ViewName } from './Head'
import { passageQuery } from './passages'
import { Toolbar } from './Toolbar'
import { texts } from './texts'
import { useBox } from './useBox'
import { useFocus } from './useFocus'
import { useKeys } from './useKeys'
import { useViewer, type ViewerPlace } from './useViewer'
import { useWheelZoom } from './useWheelZoom'
import styles from './Viewer.module.css'
import { wholeZoom, type Zoom } from './zoom'

/** The ratio of an A4 page, used until the page is loaded. */
const A4 = 1 / Math.SQRT2

/** Viewer shows the data source that the URL names, next to the page or, on narrow screens, over it. */
export function Viewer() {
  const viewer = useViewer()
  return viewer && <OpenViewer viewer={viewer} />
}

function OpenViewer({ viewer }: { viewer: ViewerPlace }) {
  const { place, citations, at, go, close } = viewer
  const source = useSource(place.dataSourceId)
  const passage = usePassage(place)
  const [chosen, setChosen] = useState<ViewName>('page')
  const [zoom, setZoom] = useState<Zoom>(1)
  const [ratio, setRatio] = useState(A4)
  const panel = useRef<HTMLElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const box = useBox(scroller)
  useFocus(panel, scroller, `${place.dataSourceId}/${place.chunkId}/${at}`)

  const name = source.data?.filename ?? ''
  const pictures = hasPictures(name)
  const view: ViewName = pictures ? chosen : 'text'
  const scale = zoom === 'whole' ? wholeZoom(ratio, box.width, box.height) : zoom
  const pages = source.data ? Math.max(1, source.data.page_count, source.data.progress?.total ?? 0) : 1
  const page = Math.min(place.page ?? passage.data?.page ?? 1, pages)
  const turn = (to: number) => {
    if (to >= 1 && to <= pages && to !== page)
      go({ ...place, page: to === passage.data?.page ? undefined : to })
  }
  const step = (by: 1 | -1) => {
    const next = citations[at < 0 && by < 0 ? -1 : at + by]
    // A citation determines its own page.
    if (next) go(next.chunkId === undefined ? next : { ...next, page: undefined })
  }
  const onKeyDown = useKeys({
    turn: (by) => turn(page + by),
    step,
    zoom: view === 'page' ? setZoom : null,
    scale,
  })
  useWheelZoom(scroller, view === 'page', scale, setZoom)
  const where = texts.pages[pageUnit(name)].name(page)
  const unmarked = view === 'page' && passage.data?.rects.length === 0

  return (
    <Frame
      label={source.data ? texts.label(name) : texts.loadingLabel}
      panel={panel}
      onClose={close}
      onKeyDown={onKeyDown}
    >
      <Head source={source.data} view={view} onView={pictures ? setChosen : undefined} onClose={close} />
      <Toolbar
        filename={name}
        page={page}
        pages={pages}
        onPage={turn}
        at={at}
        citations={citations}
        onCitation={step}
        zoom={view === 'page' ? zoom : undefined}
        scale={scale}
        onZoom={setZoom}
      />
      {passage.data?.locator && <p className={styles.where}>{passage.data.locator}</p>}
      {passage.isError && <p className={styles.note}>{texts.passageGone}</p>}
      {unmarked && (
        <p className={styles.note}>
          {texts.notLocated}
          <Button variant="link" onClick={() => setChosen('text')}>
            {texts.showText}
          </Button>
        </p>
      )}
      <div
        ref={scroller}
        className={styles.scroller}
        data-view={view}
        role="group"
        aria-label={where}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be reachable by keyboard.
        tabIndex={0}
      >
        <Content
          source={source}
          passage={passage}
          page={page}
          pages={pages}
          asked={place.page}
          view={view}
          name={texts.picture(name, where)}
          width={Math.round(box.width * scale)}
          ratio={ratio}
          onRatio={setRatio}
          scroller={scroller}
        />
      </div>
      <p className="visually-hidden" role="status">
        {source.data && where}
        {at >= 0 && ` ${texts.citations.at(citations[at]?.index, at + 1, citations.length)}`}
      </p>
    </Frame>
  )
}

/** usePassage reads the passage that the URL names and its position on the pages. */
function usePassage({ chunkId }: SourcePlace) {
  return useQuery({ ...passageQuery(chunkId ?? ''), enabled: chunkId !== undefined }, queryClient)
}
