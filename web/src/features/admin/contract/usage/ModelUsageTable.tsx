import { modelUsageQuery } from '../../queries'
import { contract } from '../../texts'
import { MonthUsage } from './MonthUsage'
import { UsageCells, usageColumns } from './UsageCells'

const words = contract.byModel

/** The usage by model, most tokens first. */
export function ModelUsageTable({ today }: { today: string }) {
  return (
    <MonthUsage
      today={today}
      query={modelUsageQuery}
      words={words}
      columns={[words.model, ...usageColumns]}
      row={(item) => (
        <tr key={item.model_id ?? ''}>
          <th scope="row">{item.name || item.model_id || words.unknown}</th>
          <UsageCells of={item} />
        </tr>
      )}
    />
  )
}
