import { cx } from '@/lib/ui/cx'
import { formatNumber } from '@/lib/ui/numbers'
import table from '../../parts/Table.module.css'
import { contract } from '../../texts'
import styles from './MemberUsageTable.module.css'
import { tokensOf } from './usage'

const words = contract.usage

/** The columns of UsageCells. */
export const usageColumns = [
  { label: words.messages, className: table.number },
  { label: words.input, className: cx(table.number, styles.detail) },
  { label: words.output, className: cx(table.number, styles.detail) },
  { label: words.tokens, className: table.number },
]

/** The usage in a row of a table. */
export function UsageCells({
  of,
}: {
  of: { messages: number; input_tokens: number; output_tokens: number }
}) {
  return (
    <>
      <td className={table.number}>{formatNumber(of.messages)}</td>
      <td className={cx(table.number, styles.detail)}>{formatNumber(of.input_tokens)}</td>
      <td className={cx(table.number, styles.detail)}>{formatNumber(of.output_tokens)}</td>
      <td className={cx(table.number, styles.tokens)}>{formatNumber(tokensOf(of))}</td>
    </>
  )
}
