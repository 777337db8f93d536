import { useState } from 'react'
import { ChoiceChip } from '@/components/Chip'
import type { DayUsage } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '@/lib/ui/numbers'
import { formatWeekday } from '../../format'
import { Section } from '../../parts/Page'
import { Table } from '../../parts/Table'
import table from '../../parts/Table.module.css'
import { contract } from '../../texts'
import styles from './Usage.module.css'
import { UsageChart } from './UsageChart'
import { type Measure, tokensOf } from './usage'

const words = contract.usage
const measures: readonly Measure[] = ['tokens', 'messages']

/** The usage by day as a chart and as a table. */
export function Usage({ days }: { days: readonly DayUsage[] }) {
  const [measure, setMeasure] = useState<Measure>('tokens')
  const unused = days.every((day) => day.messages === 0 && tokensOf(day) === 0)
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={
        <div className={styles.measures} role="group" aria-label={words.measure}>
          {measures.map((item) => (
            <ChoiceChip key={item} selected={item === measure} onClick={() => setMeasure(item)}>
              {words[item]}
            </ChoiceChip>
          ))}
        </div>
      }
    >
      <div className={cx(table.box, styles.usage)}>
        <div className={styles.chart}>
          <div className={styles.legend} aria-hidden>
            {measure === 'tokens' ? (
              <>
                <span data-kind="output">{words.output}</span>
                <span data-kind="input">{words.input}</span>
              </>
            ) : (
              <span data-kind="output">{words.messages}</span>
            )}
          </div>
          <UsageChart days={days} measure={measure} />
          {unused && <p className={styles.none}>{words.none}</p>}
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
        <div className={styles.numbers} tabIndex={0} role="group" aria-label={words.table}>
          <DayTable days={days} />
        </div>
      </div>
    </Section>
  )
}

function DayTable({ days }: { days: readonly DayUsage[] }) {
  const sum = (of: (day: DayUsage) => number) => formatNumber(days.reduce((total, day) => total + of(day), 0))
  return (
    <Table
      caption={words.table}
      columns={[
        words.date,
        { label: words.messages, className: table.number },
        { label: words.input, className: table.number },
        { label: words.output, className: table.number },
      ]}
      className={styles.days}
    >
      <tr className={styles.total}>
        <th scope="row">{words.total}</th>
        <td className={table.number}>{sum((day) => day.messages)}</td>
        <td className={table.number}>{sum((day) => day.input_tokens)}</td>
        <td className={table.number}>{sum((day) => day.output_tokens)}</td>
      </tr>
      {days.toReversed().map((day) => (
        <tr key={day.date}>
          <th scope="row" className={table.nowrap}>
            {formatWeekday(day.date)}
          </th>
          <td className={table.number}>{formatNumber(day.messages)}</td>
          <td className={table.number}>{formatNumber(day.input_tokens)}</td>
          <td className={table.number}>{formatNumber(day.output_tokens)}</td>
        </tr>
      ))}
    </Table>
  )
}
