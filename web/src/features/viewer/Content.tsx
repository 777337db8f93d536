import type { UseQueryResult } from '@tanstack/react-query'
import type { RefObject } from 'react'
import { EmptyState, ErrorState, Skeleton } from '@/components/States'
import { describeStatus } from '@/entities/source/status'
import { ApiError, type ChunkEmbedding, type DataSource } from '@/lib/api'
import type { ViewName } from './Head'
import { PageView } from './PageView'
import { TextView } from './TextView'
import { texts } from './texts'
import styles from './Viewer.module.css'

interface ContentProps {
  readonly source: UseQueryResult<DataSource>
  readonly passage: UseQueryResult<ChunkEmbedding>
  readonly page: number
  readonly pages: number
  /** The page that the user turned to, if any. */
  readonly asked: number | undefined
  readonly view: ViewName
  /** Accessible name of the page. */
  readonly name: string
  readonly width: number
  readonly ratio: number
  readonly onRatio: (ratio: number) => void
  readonly scroller: RefObject<HTMLElement | null>
}

/** Content shows the page or the text, or the reason why neither is available. */
export function Content({ source: query, passage, view, asked, ...rest }: ContentProps) {
  const { data: source, error, refetch } = query
  if (error instanceof ApiError && error.status === 404)
    return (
      <EmptyState title={texts.gone}>
        <p>{texts.goneHint}</p>
      </EmptyState>
    )
  // The location of the passage determines the page.
  if (source === undefined || passage.isLoading)
    return error === null ? <Waiting /> : <ErrorState message={texts.failed} onRetry={() => void refetch()} />
  if (view === 'page') return <PageView sourceId={source.id} passage={passage.data} {...rest} />
  if (source.status !== 'success') return <Unread source={source} />
  const start = asked === undefined && passage.data ? { ordinal: passage.data.ordinal } : { page: rest.page }
  return <TextView source={source} start={start} markedId={passage.data?.id} scroller={rest.scroller} />
}

function Unread({ source }: { source: DataSource }) {
  const failed = source.status === 'failed'
  return (
    <EmptyState title={failed ? texts.unread : describeStatus(source)}>
      <p>{failed ? source.error : texts.reading}</p>
    </EmptyState>
  )
}

function Waiting() {
  return (
    <div className={styles.waiting} role="status">
      <span className="visually-hidden">{texts.loading}</span>
      <Skeleton height={18} width="60%" />
      <Skeleton height={320} radius={4} />
    </div>
  )
}
