import { useQuery } from '@tanstack/react-query'
import { EmptyState, ErrorState } from '@/components/States'
import type { MemberUsage } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '../format'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { Paging } from '../parts/Paging'
import table from '../parts/Table.module.css'
import { memberUsageQuery } from '../queries'
import { texts } from '../texts'
import { useUrlState } from '../urlState'
import styles from './MemberUsageTable.module.css'
import { tokensOf } from './usage'

const words = texts.contract.byMember

/** The usage by member, most tokens first. */
export function MemberUsageTable() {
  const url = useUrlState()
  const { data, isError, isPlaceholderData, refetch } = useQuery({
    ...memberUsageQuery(url.page),
    placeholderData: (before) => before,
  })
  return (
    <Section title={words.title} lead={words.lead}>
      <div className={table.box}>
        {data === undefined && (isError ? <ErrorState onRetry={() => void refetch()} /> : <LinesLoading />)}
        {data?.total === 0 && <EmptyState title={words.none} />}
        {data && data.items.length > 0 && <Lines items={data.items} busy={isPlaceholderData} />}
        {data && <Paging url={url} total={data.total} shown={data.items.length} />}
      </div>
    </Section>
  )
}

function Lines({ items, busy }: { items: readonly MemberUsage[]; busy: boolean }) {
  const { usage } = texts.contract
  return (
    <table className={cx(table.table, styles.table)} aria-busy={busy}>
      <caption className="visually-hidden">{words.title}</caption>
      <thead>
        <tr>
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
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.user_id ?? ''}>
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
        ))}
      </tbody>
    </table>
  )
}
