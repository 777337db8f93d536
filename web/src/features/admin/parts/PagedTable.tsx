import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, Loaded } from '@/components/States'
import type { Counted } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { common } from '../texts'
import { type UrlState, useUrlState } from '../urlState'
import { LinesLoading } from './Loading'
import { Paging } from './Paging'
import { Table, type TableProps } from './Table'
import table from './Table.module.css'

interface PagedTableProps<Item, Key extends QueryKey> extends Omit<TableProps, 'busy' | 'children'> {
  /** query returns the query of a page. Pages count from 1. */
  query: (page: number) => UseQueryOptions<Counted<Item>, Error, Counted<Item>, Key>
  /** Replaces an empty list. */
  none: ReactNode
  /** The status for screen readers after filtering. */
  found?: (total: string) => string
  /** A note below the list. */
  note?: (total: number) => ReactNode
  row: (item: Item) => ReactNode
}

/** A list as a table with pages, with its loading, empty and error states. The page number is in the URL. */
export function PagedTable<Item, Key extends QueryKey>({
  query,
  none,
  found,
  note,
  row,
  ...props
}: PagedTableProps<Item, Key>) {
  const url = useUrlState()
  const result = useQuery({
    ...query(url.page),
    placeholderData: (before: Counted<Item> | undefined) => before,
  })
  const { data, isPlaceholderData: busy } = result
  const empty = typeof none === 'string' ? <EmptyState title={none} /> : none
  return (
    <div className={table.box}>
      {found && (
        <p className="visually-hidden" role="status">
          {data && !busy && found(formatNumber(data.total))}
        </p>
      )}
      <Loaded query={result} loading={<LinesLoading />} empty={empty}>
        {({ items }) =>
          items.length > 0 && (
            <Table {...props} busy={busy}>
              {items.map(row)}
            </Table>
          )
        }
      </Loaded>
      {data && <Paging url={url} total={data.total} shown={data.items.length} />}
      {data && note?.(data.total)}
    </div>
  )
}

interface NothingProps {
  url: UrlState
  /** The names of the filters in the URL. */
  filters?: readonly string[]
  words: { empty: string; emptyHint?: string; none?: string; noneHint?: string }
}

/** Nothing renders the empty state of a list, with or without filters. */
export function Nothing({ url, filters = ['q'], words }: NothingProps) {
  if (words.none !== undefined && filters.every((name) => url.get(name) === ''))
    return <EmptyState title={words.none}>{words.noneHint && <p>{words.noneHint}</p>}</EmptyState>
  return (
    <EmptyState title={words.empty}>
      <p>{words.emptyHint ?? common.emptyHint}</p>
      <Button size="sm" onClick={() => url.set(Object.fromEntries(filters.map((name) => [name, ''])))}>
        {common.reset}
      </Button>
    </EmptyState>
  )
}
