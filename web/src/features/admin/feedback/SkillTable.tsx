import { useQuery } from '@tanstack/react-query'
import { EmptyState, Loaded } from '@/components/States'
import type { SkillFeedback } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber, percentOf } from '@/lib/ui/numbers'
import { LinesLoading } from '../parts/Loading'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { type FeedbackQuery, skillFeedbackQuery } from '../queries'
import { feedback as words } from '../texts'
import styles from './Feedback.module.css'

/** The numbers of good and bad ratings by skill in a period. */
export function SkillTable({ period }: { period: Pick<FeedbackQuery, 'from' | 'to'> }) {
  const query = useQuery({
    ...skillFeedbackQuery(period),
    placeholderData: (before) => before,
  })
  return (
    <div className={table.box}>
      <Loaded
        query={query}
        loading={<LinesLoading lines={3} />}
        empty={<EmptyState title={words.skills.none} />}
      >
        {(data) => (
          <Table
            caption={words.skills.title}
            columns={[
              words.skills.skill,
              { label: words.ratings.good, className: table.number },
              { label: words.ratings.bad, className: table.number },
              { label: words.skills.share, className: table.number },
            ]}
            busy={query.isPlaceholderData}
          >
            <Line name={words.skills.total} counted={sum(data)} className={styles.total} />
            {data.map((item) => (
              <Line key={item.skill?.id ?? 'own'} name={item.skill?.name ?? words.ownSkill} counted={item} />
            ))}
          </Table>
        )}
      </Loaded>
    </div>
  )
}

interface LineProps {
  name: string
  counted: Pick<SkillFeedback, 'good' | 'bad'>
  className?: string | undefined
}

function Line({ name, counted: { good, bad }, className }: LineProps) {
  return (
    <tr className={className}>
      <th scope="row">{name}</th>
      <td className={table.number}>{formatNumber(good)}</td>
      <td className={table.number}>{formatNumber(bad)}</td>
      <td className={cx(table.number, table.quiet)}>{words.skills.percent(percentOf(good, good + bad))}</td>
    </tr>
  )
}

function sum(items: readonly SkillFeedback[]): Pick<SkillFeedback, 'good' | 'bad'> {
  return items.reduce((all, { good, bad }) => ({ good: all.good + good, bad: all.bad + bad }), {
    good: 0,
    bad: 0,
  })
}
