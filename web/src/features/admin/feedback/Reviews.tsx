import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { Button } from '@/components/Button'
import type { OrganizationFeedback } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { feedback as words } from '../texts'
import styles from './Feedback.module.css'

interface ReviewsProps {
  reviews: readonly OrganizationFeedback[]
  busy: boolean
  onOpen: (review: OrganizationFeedback) => void
}

/** A page of the ratings. */
export function Reviews({ reviews, busy, onOpen }: ReviewsProps) {
  return (
    <Table
      caption={words.list.title}
      columns={[words.list.at, words.list.rating, words.list.of, words.list.comment, words.list.text]}
      className={table.stacked}
      busy={busy}
    >
      {reviews.map((review) => (
        <Line key={review.id} review={review} onOpen={() => onOpen(review)} />
      ))}
    </Table>
  )
}

function Line({ review, onOpen }: { review: OrganizationFeedback; onOpen: () => void }) {
  const person = review.person ?? ''
  return (
    <tr>
      <td className={cx(table.top, table.nowrap, table.quiet)}>
        <time dateTime={review.at}>{formatFull(review.at)}</time>
      </td>
      <td className={cx(table.top, table.nowrap)}>
        <Rated rating={review.rating} />
      </td>
      <td className={cx(table.top, styles.skill)} data-label={words.list.of}>
        {review.skill?.name ?? words.ownSkill}
        {review.model && <span className={styles.model}>{review.model}</span>}
      </td>
      <td className={cx(table.top, styles.comment)} data-label={review.comment && words.list.comment}>
        {review.comment}
      </td>
      <td className={cx(table.top, styles.text)}>
        {review.with_text && (
          <>
            <span>{words.list.from(person)}</span>
            <Button size="sm" onClick={onOpen}>
              <span className="visually-hidden">{words.list.readOf(person)}</span>
              {words.list.read}
            </Button>
          </>
        )}
      </td>
    </tr>
  )
}

const icons = { good: ThumbsUp, bad: ThumbsDown } as const

/** A rating in one word. */
export function Rated({ rating }: { rating: OrganizationFeedback['rating'] }) {
  const Icon = icons[rating]
  return (
    <span className={styles.rated} data-rating={rating}>
      <Icon size={15} aria-hidden />
      {words.ratings[rating]}
    </span>
  )
}
