import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { Button } from '@/components/Button'
import type { OrganizationFeedback } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import table from '../parts/Table.module.css'
import { feedback as words } from '../texts'
import styles from './Feedback.module.css'

/** A rating in the list. */
export function Review({ review, onOpen }: { review: OrganizationFeedback; onOpen: () => void }) {
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
