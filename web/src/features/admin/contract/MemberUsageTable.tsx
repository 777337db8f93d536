import type { MemberUsage } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '../format'
import { Section } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import table from '../parts/Table.module.css'
import { memberUsageQuery } from '../queries'
import { texts } from '../texts'
import styles from './MemberUsageTable.module.css'
import { tokensOf } from './usage'

const words = texts.contract.byMember
const { usage } = texts.contract

/** The usage by member, most tokens first. */
export function MemberUsageTable() {
  return (
    <Section title={words.title} lead={words.lead}>
      <PagedTable
        query={memberUsageQuery}
        caption={words.title}
        none={words.none}
        className={styles.table}
        head={
          <>
            <th scope="col">{words.member}</th>
            <th scope="col" className={table.number}>
              {usage.messages}
            </th>
            <th scope="col" className={cx(table.number, styles.detail)}>
              {usage.input}
            </th>
            <th scope="col" className={cx(table.number, styles.detail)}>
              {usage.output}
            </th>
            <th scope="col" className={table.number}>
              {usage.tokens}
            </th>
          </>
        }
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
      <td className={table.number}>{formatNumber(item.messages)}</td>
      <td className={cx(table.number, styles.detail)}>{formatNumber(item.input_tokens)}</td>
      <td className={cx(table.number, styles.detail)}>{formatNumber(item.output_tokens)}</td>
      <td className={cx(table.number, styles.tokens)}>{formatNumber(tokensOf(item))}</td>
    </tr>
  )
}
