import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { EmptyState } from '@/components/States'
import { cx } from '@/lib/ui/cx'
import { useUrlState } from '../urlState'
import { PagedList, type PageQuery } from './PagedList'
import table from './Table.module.css'

interface PagedTableProps<Item, Key extends QueryKey> {
  query: PageQuery<Item, Key>
  /** The name of the table. */
  caption: string
  /** The text in place of an empty list. */
  none: string
  /** The cells of the head. */
  head: ReactNode
  className?: string | undefined
  row: (item: Item) => ReactNode
}

/** A list as a table with pages. */
export function PagedTable<Item, Key extends QueryKey>(props: PagedTableProps<Item, Key>) {
  const { query, caption, none, head, className, row } = props
  return (
    <PagedList url={useUrlState()} query={query} empty={<EmptyState title={none} />}>
      {(items, busy) => (
        <table className={cx(table.table, className)} aria-busy={busy}>
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>{head}</tr>
          </thead>
          <tbody>{items.map(row)}</tbody>
        </table>
      )}
    </PagedList>
  )
}
