import { type UseQueryOptions, useQuery } from '@tanstack/react-query'
import { type ComponentProps, type ReactNode, useState } from 'react'
import { EmptyState, Loaded } from '@/components/States'
import { LinesLoading } from '../../parts/Loading'
import { Section } from '../../parts/Page'
import { Table } from '../../parts/Table'
import table from '../../parts/Table.module.css'
import styles from './MemberUsageTable.module.css'
import { MonthSelect } from './MonthSelect'

interface MonthUsageProps<Item, Data, Key extends readonly unknown[]> {
  readonly today: string
  /** query returns the query for a month, or with '' for the last 30 days. */
  readonly query: (month: string) => UseQueryOptions<Data, Error, Item[], Key>
  readonly words: { readonly title: string; readonly lead: string; readonly none: string }
  readonly columns: ComponentProps<typeof Table>['columns']
  readonly row: (item: Item) => ReactNode
}

/** A table of the usage in a month or in the last 30 days. */
export function MonthUsage<Item, Data, Key extends readonly unknown[]>(
  props: MonthUsageProps<Item, Data, Key>,
) {
  const { today, query, words, columns, row } = props
  const [month, setMonth] = useState('')
  const found = useQuery(query(month))
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={<MonthSelect today={today} month={month} onChange={setMonth} />}
    >
      <div className={table.box}>
        <Loaded query={found} loading={<LinesLoading />} empty={<EmptyState title={words.none} />}>
          {(items) => (
            <Table caption={words.title} columns={columns} className={styles.table}>
              {items.map(row)}
            </Table>
          )}
        </Loaded>
      </div>
    </Section>
  )
}
