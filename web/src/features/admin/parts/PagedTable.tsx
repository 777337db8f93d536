import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { EmptyState, ErrorState } from '@/components/States'
import type { Counted } from '@/lib/api/admin'
import { cx } from '@/lib/ui/cx'
import { useUrlState } from '../urlState'
import { LinesLoading } from './Loading'
import { Paging } from './Paging'
import table from './Table.module.css'

interface PagedTableProps<Item, Key extends QueryKey> {
  /** The query of a page; pages count from 1. */
  query: (page: number) => UseQueryOptions<Counted<Item>, Error, Counted<Item>, Key>
  /** The name of the table. */
  caption: string
  /** The text in place of an empty list. */
  none: string
  /** The cells of the head. */
  head: ReactNode
  className?: string | undefined
  row: (item: Item) => ReactNode
}

/** A list as a table with pages. The page number is in the URL. */
export function PagedTable<Item, Key extends QueryKey>(props: PagedTableProps<Item, Key>) {
  const url = useUrlState()
  const { data, isError, isPlaceholderData, refetch } = useQuery({
    ...props.query(url.page),
    placeholderData: (before: Counted<Item> | undefined) => before,
  })
  return (
    <div className={table.box}>
      {data === undefined && (isError ? <ErrorState onRetry={() => void refetch()} /> : <LinesLoading />)}
      {data?.total === 0 && <EmptyState title={props.none} />}
      {data && data.items.length > 0 && (
        <table className={cx(table.table, props.className)} aria-busy={isPlaceholderData}>
          <caption className="visually-hidden">{props.caption}</caption>
          <thead>
            <tr>{props.head}</tr>
          </thead>
          <tbody>{data.items.map(props.row)}</tbody>
        </table>
      )}
      {data && <Paging url={url} total={data.total} shown={data.items.length} />}
    </div>
  )
}
