import type { UseQueryResult } from '@tanstack/react-query'
import type { CSSProperties, ReactNode } from 'react'
import { cx } from '@/lib/ui/cx'
import { Button } from './Button'
import styles from './States.module.css'

/** A placeholder for content that is loading. Announce 読み込み中 once around a group of them, not in each. */
export function Skeleton({
  width = '100%',
  height = 14,
  radius,
  className,
}: {
  width?: CSSProperties['width']
  height?: CSSProperties['height'] | undefined
  radius?: number
  className?: string | undefined
}) {
  return (
    <span
      className={cx(styles.skeleton, className)}
      style={{ width, height, ...(radius !== undefined && { borderRadius: radius }) }}
      aria-hidden="true"
    />
  )
}

/** Placeholders for lines that are loading, with their widths in percent. */
export function Skeletons({
  widths,
  height,
  className,
}: {
  widths: readonly number[]
  height?: number
  className?: string | undefined
}) {
  return (
    <div className={className} role="status">
      <span className="visually-hidden">読み込み中...</span>
      {widths.map((width) => (
        <Skeleton key={width} width={`${width}%`} height={height} />
      ))}
    </div>
  )
}

/** An empty state: explains that the list is empty and how to begin. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.state}>
      <p className={styles.stateTitle}>{title}</p>
      {children}
    </div>
  )
}

/** Reports that a part of the page could not be loaded. */
export function ErrorState({
  onRetry,
  message = '読み込みに失敗しました',
}: {
  onRetry: () => void
  message?: string
}) {
  return (
    <div className={styles.state} role="alert">
      <p className={styles.stateTitle}>{message}</p>
      <Button variant="link" onClick={onRetry}>
        やり直す
      </Button>
    </div>
  )
}

interface RetryNoteProps {
  message?: string
  className?: string | undefined
  onRetry: () => void
}

/** Reports in one line that a part of a list could not be loaded. */
export function RetryNote({ message = '読み込みに失敗しました', className, onRetry }: RetryNoteProps) {
  return (
    <p className={className} role="alert">
      {message}
      <Button variant="link" onClick={onRetry}>
        やり直す
      </Button>
    </p>
  )
}

interface LoadedProps<Data> {
  query: Pick<UseQueryResult<Data>, 'data' | 'isError' | 'refetch'>
  /** The placeholder until the data is loaded. */
  loading?: ReactNode
  /** Replaces an empty list. */
  empty?: ReactNode
  children: (data: Data) => ReactNode
}

/** Loaded shows the data of a query: a placeholder while it loads, an error with a retry button, or the data. */
export function Loaded<Data>({ query, loading, empty, children }: LoadedProps<Data>) {
  const { data, isError, refetch } = query
  if (data === undefined) return isError ? <ErrorState onRetry={() => void refetch()} /> : loading
  return empty !== undefined && isEmpty(data) ? empty : children(data)
}

/** isEmpty reports whether a list, or a page of a list with its total number, is empty. */
function isEmpty(data: unknown): boolean {
  if (Array.isArray(data)) return data.length === 0
  return typeof data === 'object' && data !== null && 'total' in data && data.total === 0
}
