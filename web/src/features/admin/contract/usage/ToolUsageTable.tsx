import { formatNumber } from '@/lib/ui/numbers'
import table from '../../parts/Table.module.css'
import { toolUsageQuery } from '../../queries'
import { contract } from '../../texts'
import { MonthUsage } from './MonthUsage'

const words = contract.byTool

const columns = [
  words.tool,
  words.skill,
  { label: words.calls, className: table.number },
  { label: words.failures, className: table.number },
  { label: words.average, className: table.number },
]

/** The calls of tools by tool and skill, most calls first. */
export function ToolUsageTable({ today }: { today: string }) {
  return (
    <MonthUsage
      today={today}
      query={toolUsageQuery}
      words={words}
      columns={columns}
      row={(item) => (
        <tr key={`${item.tool} ${item.skill_id}`}>
          <th scope="row">{item.title || item.tool}</th>
          <td>{item.skill_name ?? words.deleted}</td>
          <td className={table.number}>{formatNumber(item.calls)}</td>
          <td className={table.number}>{formatNumber(item.failures)}</td>
          <td className={table.number}>{words.seconds(item.duration_ms / item.calls / 1000)}</td>
        </tr>
      )}
    />
  )
}
