import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Button } from '@/components/Button'
import { SkillIcon } from '@/components/SkillIcon'
import { EmptyState, ErrorState } from '@/components/States'
import { call, type SkillRequest } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { useAction } from './actions'
import styles from './Library.module.css'
import { requestsQuery } from './queries'
import { texts } from './texts'

const Review = lazy(async () => ({ default: (await import('./Review')).Review }))

/** Requests lists the publication requests, for administrators. */
export function Requests() {
  const { data, isError, refetch } = useQuery(requestsQuery)
  const [reviewed, setReviewed] = useState<SkillRequest | null>(null)
  const { act } = useAction()
  const review = (id: string) =>
    act(async () => setReviewed(await call('getSkillRequest', { skill_request_id: id })))
  return (
    <>
      {isError && <ErrorState onRetry={() => void refetch()} />}
      {data?.length === 0 && <EmptyState title={texts.emptyRequests} />}
      <ul className={styles.list}>
        {data?.map((request) => (
          <li className={styles.line} key={request.id}>
            <SkillIcon path={request.icon_path} size={32} />
            <div>
              <h2>{request.skill_name}</h2>
              <p>{`${request.user_name}（${request.user_email}） ${formatDate(request.created_at)}`}</p>
              {request.note && <p>{request.note}</p>}
            </div>
            <div className={styles.actions}>
              <Button size="sm" onClick={() => void review(request.id)}>
                {texts.review}
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {reviewed && (
        <Suspense>
          <Review request={reviewed} onClose={() => setReviewed(null)} />
        </Suspense>
      )}
    </>
  )
}
