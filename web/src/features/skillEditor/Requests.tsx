import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import { SkillIcon } from '@/components/SkillIcon'
import { EmptyState, ErrorState } from '@/components/States'
import { call, type SkillRequest } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { toast } from '@/lib/ui/toast'
import { useAction } from './actions'
import styles from './Library.module.css'
import { requestsQuery } from './queries'
import { texts } from './texts'

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
      {reviewed && <Review request={reviewed} onClose={() => setReviewed(null)} />}
    </>
  )
}

function Review({ request, onClose }: { request: SkillRequest; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const { busy, act } = useAction()
  const decide = (approve: boolean) =>
    act(async () => {
      const body = { approve, reason: approve ? '' : reason }
      await call('decideSkillRequest', { skill_request_id: request.id, body })
      toast(texts.decided, { tone: 'success' })
      onClose()
    })
  const { content, documents } = request
  return (
    <Dialog
      title={request.skill_name}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button onClick={() => void decide(false)}>{texts.reject}</Button>
          <Button variant="primary" loading={busy} onClick={() => void decide(true)}>
            {texts.approve}
          </Button>
        </>
      }
    >
      <p>{content?.description}</p>
      <h3>{texts.editor.prompt}</h3>
      <pre className={styles.prompt}>{content?.prompt}</pre>
      {documents && documents.length > 0 && (
        <>
          <h3>{texts.editor.documents}</h3>
          <ul>
            {documents.map(({ id, filename }) => (
              <li key={id}>{filename}</li>
            ))}
          </ul>
        </>
      )}
      <TextArea
        label={texts.reason}
        optional
        rows={2}
        maxLength={1000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </Dialog>
  )
}
