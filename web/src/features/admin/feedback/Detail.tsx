import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { EmptyState, ErrorState } from '@/components/States'
import { ApiError, type OrganizationFeedback } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { LinesLoading } from '../parts/Loading'
import { feedbackTextQuery } from '../queries'
import { common, feedback } from '../texts'
import styles from './Feedback.module.css'
import { Rated } from './Review'

const words = feedback.detail

// Other pages of the administration show no answers.
const Markdown = lazy(async () => ({ default: (await import('@/lib/markdown')).Markdown }))

/** The question and the answer of a rating. */
export function Detail({ review, onClose }: { review: OrganizationFeedback; onClose: () => void }) {
  const { data, error, refetch } = useQuery(feedbackTextQuery(review.id))
  // The user may have withdrawn the rating or its text since the list was loaded.
  const gone = data ? !data.with_text : error instanceof ApiError && error.status === 404
  return (
    <Dialog
      title={words.title}
      className={styles.drawer}
      onClose={onClose}
      actions={<Button onClick={onClose}>{common.close}</Button>}
    >
      {gone && <EmptyState title={words.gone} />}
      {!data && error === null && <LinesLoading />}
      {!data && error !== null && !gone && <ErrorState onRetry={() => void refetch()} />}
      {data && !gone && <Text review={data} />}
    </Dialog>
  )
}

function Text({ review }: { review: OrganizationFeedback }) {
  return (
    <div className={styles.sent}>
      <p className={styles.facts}>
        <Rated rating={review.rating} />
        <span>{feedback.list.from(review.person ?? '')}</span>
        <span>{review.skill?.name ?? feedback.ownSkill}</span>
        <time dateTime={review.at}>{formatFull(review.at)}</time>
      </p>
      {review.comment && (
        <section>
          <h3>{words.comment}</h3>
          <p className={styles.plain}>{review.comment}</p>
        </section>
      )}
      <section>
        <h3>{words.question}</h3>
        <p className={styles.question}>{review.question}</p>
      </section>
      <section>
        <h3>{words.answer}</h3>
        <Suspense fallback={<p className={styles.plain}>{review.answer}</p>}>
          <Markdown text={review.answer ?? ''} />
        </Suspense>
      </section>
    </div>
  )
}
