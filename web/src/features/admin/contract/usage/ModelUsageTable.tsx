import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState, Loaded } from '@/components/States'
import { LinesLoading } from '../../parts/Loading'
import { Section } from '../../parts/Page'
import { Table } from '../../parts/Table'
import table from '../../parts/Table.module.css'
import { modelUsageQuery } from '../../queries'
import { texts } from '../../texts'
import styles from './MemberUsageTable.module.css'
import { MonthSelect } from './MonthSelect'
import { UsageCells, usageColumns } from './UsageCells'

const words = texts.contract.byModel

/** The usage by model of a month or of the last 30 days, most tokens first. */
export function ModelUsageTable({ today }: { today: string }) {
  const [month, setMonth] = useState('')
  const query = useQuery(modelUsageQuery(month))
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={<MonthSelect today={today} month={month} onChange={setMonth} />}
    >
      <div className={table.box}>
        <Loaded query={query} loading={<LinesLoading />} empty={<EmptyState title={words.none} />}>
          {(data) => (
            <Table caption={words.title} columns={[words.model, ...usageColumns]} className={styles.table}>
              {data.map((item) => (
                <tr key={item.model_id ?? ''}>
                  <th scope="row">{item.name || item.model_id || words.unknown}</th>
                  <UsageCells of={item} />
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
      </div>
    </Section>
  )
}
