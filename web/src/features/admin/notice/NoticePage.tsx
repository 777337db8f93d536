import { useQuery } from '@tanstack/react-query'
import { useParams, useSearchParams } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { NoticeCard } from '@/components/NoticeCard'
import { EmptyState, ErrorState } from '@/components/States'
import { ApiError, type ManagedNotice } from '@/lib/api'
import { formatJapan } from '../format'
import { BoxesLoading } from '../parts/Loading'
import { BackLink, Fact, Facts, Notice, Page } from '../parts/Page'
import { noticeQuery } from '../queries'
import { notices, notice as words } from '../texts'
import styles from './Notice.module.css'
import { NoticeForm } from './NoticeForm'

const back = <BackLink to="/admin/notice">{words.back}</BackLink>

/** A new notice, or a copy of the notice in the parameter `from` of the URL. */
export function NewNoticePage() {
  const from = useSearchParams()[0].get('from')
  return (
    <Page title={words.titles.add} actions={back}>
      {from === null ? (
        <NoticeForm />
      ) : (
        <Loaded id={from}>{(notice) => <NoticeForm notice={notice} copied />}</Loaded>
      )}
    </Page>
  )
}

/** A notice, editable or read-only. */
export function NoticePage() {
  const { noticeId = '' } = useParams()
  const state = useQuery(noticeQuery(noticeId)).data
  const title = state === undefined || mayChange(state) ? words.titles.edit : words.titles.show
  return (
    <Page title={title} actions={back}>
      <Loaded key={noticeId} id={noticeId}>
        {(notice) => (mayChange(notice) ? <NoticeForm notice={notice} /> : <Shown notice={notice} />)}
      </Loaded>
    </Page>
  )
}

function mayChange(notice: ManagedNotice): boolean {
  return notice.own && notice.state !== 'ended'
}

function Loaded({ id, children }: { id: string; children: (notice: ManagedNotice) => React.ReactNode }) {
  const { data, error, refetch } = useQuery(noticeQuery(id))
  if (data !== undefined) return children(data)
  if (error === null) return <BoxesLoading heights={[300, 120]} />
  // The API responds with 400 to an invalid id.
  const missing = error instanceof ApiError && (error.status === 404 || error.status === 400)
  return missing ? <EmptyState title={words.missing} /> : <ErrorState onRetry={() => void refetch()} />
}

function Shown({ notice }: { notice: ManagedNotice }) {
  const { columns, states, levels, audiences, period } = notices
  const to = notice.ends_at ? formatJapan(notice.ends_at) : ''
  return (
    <div className={styles.shown}>
      <Notice level="info">{notice.own ? words.readOnly.ended : words.readOnly.operators}</Notice>
      <NoticeCard notice={notice} />
      <Facts>
        <Fact name={columns.state}>{states[notice.state]}</Fact>
        <Fact name={columns.level}>{levels[notice.level]}</Fact>
        <Fact name={columns.audience}>{audiences[notice.audience]}</Fact>
        <Fact name={columns.period}>{period(formatJapan(notice.published_at), to)}</Fact>
      </Facts>
      {notice.own && (
        <div>
          <ButtonLink to={`/admin/notice/new?from=${notice.id}`}>{words.copy}</ButtonLink>
        </div>
      )}
    </div>
  )
}
