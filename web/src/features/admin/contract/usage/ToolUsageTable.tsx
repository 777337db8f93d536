import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState, Loaded } from '@/components/States'
import { formatNumber } from '@/lib/ui/numbers'
import { LinesLoading } from '../../parts/Loading'
import { Section } from '../../parts/Page'
import { Table } from '../../parts/Table'
import table from '../../parts/Table.module.css'
import { toolUsageQuery } from '../../queries'
import { texts } from '../../texts'
import styles from './MemberUsageTable.module.css'
import { MonthSelect } from './MonthSelect'

const words = texts.contract.byTool

const columns = [
  words.tool,
  words.skill,
  { label: words.calls, className: table.number },
  { label: words.failures, className: table.number },
  { label: words.average, className: table.number },
]

/** The calls of tools by tool and skill in a month or in the last 30 days, most calls first. */
export function ToolUsageTable({ today }: { today: string }) {
  const [month, setMonth] = useState('')
  const query = useQuery(toolUsageQuery(month))
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={<MonthSelect today={today} month={month} onChange={setMonth} />}
    >
      <div className={table.box}>
        <Loaded query={query} loading={<LinesLoading />} empty={<EmptyState title={words.none} />}>
          {(data) => (
            <Table caption={words.title} columns={columns} className={styles.table}>
              {data.map((item) => (
                <tr key={`${item.tool} ${item.skill_id}`}>
                  <th scope="row">{item.title || item.tool}</th>
                  <td>{item.skill_name ?? words.deleted}</td>
                  <td className={table.number}>{formatNumber(item.calls)}</td>
                  <td className={table.number}>{formatNumber(item.failures)}</td>
                  <td className={table.number}>{words.seconds(item.duration_ms / item.calls / 1000)}</td>
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
      </div>
    </Section>
  )
}
