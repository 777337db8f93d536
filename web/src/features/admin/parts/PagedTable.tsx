import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { EmptyState } from '@/components/States'
import { useUrlState } from '../urlState'
import { PagedList, type PagedListProps } from './PagedList'
import { Table } from './Table'

interface PagedTableProps<Item, Key extends QueryKey>
  extends Omit<Parameters<typeof Table>[0], 'busy' | 'children'>,
    Pick<PagedListProps<Item, Key>, 'query' | 'found'> {
  /** Replaces an empty list. */
  none: ReactNode
  row: (item: Item) => ReactNode
}

/** A list as a table with pages. */
export function PagedTable<Item, Key extends QueryKey>({
  query,
  found,
  none,
  row,
  ...props
}: PagedTableProps<Item, Key>) {
  const empty = typeof none === 'string' ? <EmptyState title={none} /> : none
  return (
    <PagedList url={useUrlState()} query={query} found={found} empty={empty}>
      {(items, busy) => (
        <Table {...props} busy={busy}>
          {items.map(row)}
        </Table>
      )}
    </PagedList>
  )
}
