import { type RefObject, useEffect, useRef } from 'react'
import { ErrorState } from '@/components/States'
import { ThreadLine } from '@/components/ThreadLine'
import { type ChunkEmbedding, errorMessage, type Rect } from '@/lib/api'
import styles from './PageView.module.css'
import { usePicture } from './pictures'
import { texts } from './texts'

/** The fraction of the panel's height above the first mark after scrolling. */
const ABOVE = 0.25

interface PageViewProps {
  readonly sourceId: string
  readonly page: number
  readonly pages: number
  /** Accessible name of the page. */
  readonly name: string
  /** The passage to mark, if any. */
  readonly passage: ChunkEmbedding | undefined
  /** Width of the page in CSS pixels; 0 while unknown. */
  readonly width: number
  /** Width divided by height. Until the page is loaded, the ratio of the previous page. */
  readonly ratio: number
  readonly onRatio: (ratio: number) => void
  readonly scroller: RefObject<HTMLElement | null>
}

/** PageView shows a page as a picture and marks the passage on it. */
export function PageView(props: PageViewProps) {
  const { sourceId, page, pages, name, passage, width, ratio, onRatio, scroller } = props
  const { picture, error, retry } = usePicture(sourceId, page, pages, width)
  const shown = picture?.page === page ? picture : null
  const marks = shown ? (passage?.rects.filter((rect) => rect.page === page) ?? []) : []

  useEffect(() => {
    if (picture) onRatio(picture.ratio)
  }, [picture, onRatio])
  useFirstMark(
    scroller,
    `${sourceId}/${passage?.id}/${page}`,
    shown !== null && width > 0,
    marks,
    width / ratio,
  )

  if (error !== null && shown === null)
    return <ErrorState message={errorMessage(error, '') || texts.pictureFailed} onRetry={retry} />
  return (
    <div className={styles.page} style={{ width, aspectRatio: ratio }} data-page={page} aria-busy={!shown}>
      {shown ? (
        <img className={styles.picture} src={shown.url} alt={name} draggable={false} />
      ) : (
        <span className={styles.waiting} role="status">
          <span className="visually-hidden">{texts.loading}</span>
          <ThreadLine running />
        </span>
      )}
      {marks.map((rect) => (
        <span key={`${rect.x} ${rect.y}`} className={styles.mark} style={placeOnPage(rect)} data-mark />
      ))}
      {marks.length > 0 && (
        <p className="visually-hidden">
          {texts.citations.mark}: {passage?.text}
        </p>
      )}
    </div>
  )
}

function placeOnPage({ x, y, width, height }: Rect) {
  const percent = (part: number) => `${part * 100}%`
  return { left: percent(x), top: percent(y), width: percent(width), height: percent(height) }
}

/** useFirstMark scrolls to the first mark of a page, or to the top without a mark. It scrolls once per location. */
function useFirstMark(
  scroller: RefObject<HTMLElement | null>,
  place: string,
  ready: boolean,
  marks: readonly Rect[],
  height: number,
): void {
  const at = useRef('')
  useEffect(() => {
    const element = scroller.current
    if (!ready || element === null || at.current === place) return
    at.current = place
    const top = Math.min(...marks.map(({ y }) => y), 1)
    element.scrollTo({
      top: marks.length === 0 ? 0 : Math.max(0, top * height - element.clientHeight * ABOVE),
    })
  }, [scroller, place, ready, marks, height])
}
