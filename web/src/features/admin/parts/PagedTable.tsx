import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { EmptyState } from '@/components/States'
import { useUrlState } from '../urlState'
import { PagedList, type PageQuery } from './PagedList'
import { Table } from './Table'

interface PagedTableProps<Item, Key extends QueryKey>
  extends Omit<Parameters<typeof Table>[0], 'busy' | 'children'> {
  query: PageQuery<Item, Key>
  /** The text in place of an empty list. */
  none: string
  row: (item: Item) => ReactNode
}

/** A list as a table with pages. */
export function PagedTable<Item, Key extends QueryKey>({
  query,
  none,
  row,
  ...props
}: PagedTableProps<Item, Key>) {
  return (
    <PagedList url={useUrlState()} query={query} empty={<EmptyState title={none} />}>
      {(items, busy) => (
        <Table {...props} busy={busy}>
          {items.map(row)}
        </Table>
      )}
    </PagedList>
  )
}
