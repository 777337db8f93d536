import type { MemberUsage } from '@/lib/api'
import { Section } from '../../parts/Page'
import { PagedTable } from '../../parts/PagedTable'
import { memberUsageQuery } from '../../queries'
import { contract } from '../../texts'
import styles from './MemberUsageTable.module.css'
import { UsageCells, usageColumns } from './UsageCells'

const words = contract.byMember

/** The usage by member, most tokens first. */
export function MemberUsageTable() {
  return (
    <Section title={words.title} lead={words.lead}>
      <PagedTable
        query={memberUsageQuery}
        caption={words.title}
        none={words.none}
        className={styles.table}
        columns={[words.member, ...usageColumns]}
        row={(item) => <Line key={item.user_id ?? ''} item={item} />}
      />
    </Section>
  )
}

function Line({ item }: { item: MemberUsage }) {
  return (
    <tr>
      <th scope="row">
        {item.user_id ? (
          <span className={styles.who}>
            <span>{item.name}</span>
            <span>{item.email}</span>
          </span>
        ) : (
          words.removed
        )}
      </th>
      <UsageCells of={item} />
    </tr>
  )
}
