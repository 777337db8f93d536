import { useInfiniteQuery } from '@tanstack/react-query'
import { memo, type RefObject, useEffect, useLayoutEffect, useMemo, useRef } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, ErrorState, Skeletons } from '@/components/States'
import { hasPictures, isMarkdown, pageUnit } from '@/entities/source/files'
import type { DataSource, Passage } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { useScrollTrigger } from '@/lib/ui/scrollTrigger'
import { Blocks } from './Blocks'
import { type TextStart, textQuery } from './passages'
import { sheetBlocks } from './sheet'
import { blocksOf } from './structure'
import styles from './TextView.module.css'
import { texts } from './texts'

interface TextViewProps {
  readonly source: DataSource
  readonly start: TextStart
  readonly markedId: string | undefined
  readonly scroller: RefObject<HTMLElement | null>
}

/** TextView shows the text of a data source from a position on and marks the passage in it. */
export function TextView({ source, start, markedId, scroller }: TextViewProps) {
  const query = useInfiniteQuery(textQuery(source.id, start), queryClient)
  const { data, isFetching, isError, hasNextPage, hasPreviousPage, fetchNextPage, fetchPreviousPage } = query
  const content = useRef<HTMLDivElement>(null)
  const batches = data?.pages ?? []
  const sentinel = useScrollTrigger<HTMLDivElement>(scroller, {
    enabled: hasNextPage && !isFetching && !isError,
    onNear: () => void fetchNextPage(),
    count: batches.length,
  })
  useMarkInView(scroller, content, `${source.id}/${markedId}/${JSON.stringify(start)}`, data !== undefined)
  useStay(scroller, batches[0]?.[0]?.ordinal)

  if (data === undefined)
    return isError ? (
      <ErrorState message={texts.textFailed} onRetry={() => void query.refetch()} />
    ) : (
      skeletons
    )
  if (batches.every((batch) => batch.length === 0)) return <EmptyState title={texts.noText} />
  return (
    <div className={styles.text} ref={content}>
      {hasPreviousPage && (
        <Button
          variant="link"
          loading={query.isFetchingPreviousPage}
          onClick={() => void fetchPreviousPage()}
        >
          {texts.earlier}
        </Button>
      )}
      {batches.map((batch, at) => (
        <Batch
          key={batch[0]?.ordinal ?? at}
          passages={batch}
          pageBefore={batches[at - 1]?.at(-1)?.page}
          markedId={batch.some(({ id }) => id === markedId) ? markedId : undefined}
          name={source.filename}
          paged={source.page_count > 1}
        />
      ))}
      {query.isFetchingNextPage && skeletons}
      {isError && <ErrorState message={texts.textFailed} onRetry={() => void fetchNextPage()} />}
      <div ref={sentinel} />
    </div>
  )
}

interface BatchProps {
  readonly passages: readonly Passage[]
  /** The page of the preceding passage. */
  readonly pageBefore: number | undefined
  readonly markedId: string | undefined
  readonly name: string
  /** Whether the file has page numbers to show. */
  readonly paged: boolean
}

/** Batch shows passages that were loaded together. It renders again only when the mark enters or leaves it. */
const Batch = memo(function Batch({ passages, pageBefore, markedId, name, paged }: BatchProps) {
  const pages = useMemo(() => byPage(passages), [passages])
  const unit = texts.pages[pageUnit(name)]
  return pages.map(({ page, own }) => (
    <section key={page} className={styles.page} aria-label={paged ? unit.name(page) : undefined}>
      {paged && page !== pageBefore && <p className={styles.number}>{unit.name(page)}</p>}
      <Blocks
        blocks={
          pageUnit(name) === 'sheet'
            ? sheetBlocks(own, markedId)
            : blocksOf(own, markedId, isMarkdown(name), isMarkdown(name) || hasPictures(name))
        }
      />
    </section>
  ))
})

function byPage(passages: readonly Passage[]): { page: number; own: Passage[] }[] {
  const pages: { page: number; own: Passage[] }[] = []
  for (const passage of passages) {
    const last = pages.at(-1)
    if (last?.page === passage.page) last.own.push(passage)
    else pages.push({ page: passage.page, own: [passage] })
  }
  return pages
}

const skeletons = <Skeletons className={styles.skeletons} widths={[92, 100, 96, 40, 88, 98, 62]} />

/** useMarkInView scrolls to the marked passage, or to the beginning without a mark. It scrolls once per location. */
function useMarkInView(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  place: string,
  ready: boolean,
): void {
  const at = useRef('')
  useEffect(() => {
    if (!ready || at.current === place) return
    at.current = place
    const mark = content.current?.querySelector('mark, [data-marked]')
    if (mark) mark.scrollIntoView({ block: 'center' })
    else scroller.current?.scrollTo({ top: 0 })
  }, [scroller, content, place, ready])
}

/** useStay keeps the visible text in place when earlier text is inserted above it. */
function useStay(scroller: RefObject<HTMLElement | null>, first: number | undefined): void {
  const before = useRef<{ first: number | undefined; height: number }>({ first, height: 0 })
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const { first: earlier, height } = before.current
    if (earlier !== undefined && first !== undefined && first < earlier && element.scrollTop < 1)
      element.scrollTop += element.scrollHeight - height
    before.current = { first, height: element.scrollHeight }
  })
}
