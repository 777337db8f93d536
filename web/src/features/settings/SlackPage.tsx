import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { MessagesSquare } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { ErrorState } from '@/components/States'
import { ApiError, call, errorMessage, type SlackLink } from '@/lib/api'
import { meQuery, reload } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import sessions from './SessionsPage.module.css'
import { SettingPage } from './SettingPage'
import styles from './SlackPage.module.css'
import { texts } from './texts'

const words = texts.slack
const SLACK = ['slack-link'] as const

const slackLinkQuery = (state: string) =>
  queryOptions({
    queryKey: [...SLACK, state],
    queryFn: ({ signal }) => call('getSlackLink', { ...(state && { state }), signal }),
    staleTime: 0,
    retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
  })

/** SlackPage shows the user's link with Slack, with buttons to create and remove it. */
export function SlackPage() {
  const [params] = useSearchParams()
  const state = params.get('state') ?? ''
  const { data, error, refetch } = useQuery(slackLinkQuery(state))
  const refused = error instanceof ApiError && error.code in words.failures ? error.code : null
  return (
    <SettingPage title={words.title}>
      <Returned refused={refused ?? params.get('error')} linked={params.get('result') === 'linked'} />
      <p className={sessions.lead}>{words.lead}</p>
      {!data && error && refused === null && <ErrorState onRetry={() => void refetch()} />}
      {!data && !error && <p role="status">{words.loading}</p>}
      {data && <Own own={data} state={state} />}
    </SettingPage>
  )
}

/** Returned shows the result of linking after the redirect from Slack. */
function Returned({ refused, linked }: { refused: string | null; linked: boolean }) {
  if (refused !== null) {
    return (
      <p className={styles.failed} role="alert">
        {words.failures[refused] ?? words.failed}
      </p>
    )
  }
  return linked ? (
    <p className={styles.done} role="status">
      {words.done}
    </p>
  ) : null
}

function Own({ own, state }: { own: SlackLink; state: string }) {
  if (own.workspace === '') return <p className={styles.none}>{words.none}</p>
  if (own.link) {
    return (
      <>
        {own.asking && own.asking.id !== own.link.person && <p className={styles.failed}>{words.another}</p>}
        <Linked link={own.link} workspace={own.workspace} />
      </>
    )
  }
  if (!own.can_link) return <p className={styles.none}>{words.setup}</p>
  return <Unlinked own={own} state={state} />
}

function Unlinked({ own, state }: { own: SlackLink; state: string }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const [leaving, setLeaving] = useState(false)
  const link = async () => {
    setLeaving(true)
    try {
      window.location.assign((await call('linkSlack', { body: state === '' ? {} : { state } })).url)
    } catch (cause) {
      setLeaving(false)
      toastFailure(words.notBegun(errorMessage(cause, '')))
    }
  }
  return (
    <div className={styles.box}>
      {own.asking ? (
        <>
          <p>{words.asking}</p>
          <dl className={styles.facts}>
            <dt>{words.person}</dt>
            <dd>{words.of(own.asking.name, own.workspace)}</dd>
            <dt>{words.account}</dt>
            <dd>
              {me.name}（{me.email}）
            </dd>
          </dl>
          <p className={styles.small}>{words.warning(own.asking.name)}</p>
        </>
      ) : (
        <p>{words.unlinked(own.workspace)}</p>
      )}
      <div>
        <Button variant="primary" loading={leaving} onClick={() => void link()}>
          {leaving ? words.leaving : words.link}
        </Button>
      </div>
    </div>
  )
}

function Linked({ link, workspace }: { link: NonNullable<SlackLink['link']>; workspace: string }) {
  const [asking, setAsking] = useState(false)
  const since = formatDate(link.created_at)
  return (
    <ul className={sessions.list} aria-label={words.title}>
      <li className={sessions.line}>
        <MessagesSquare size={20} aria-hidden />
        <div className={sessions.what}>
          <p className={sessions.name}>
            {words.facts(link.name || link.person, workspace)}
            <span className={sessions.current}>{words.linked}</span>
          </p>
          <p>{link.automatic ? words.automatic(since) : words.since(since)}</p>
        </div>
        <Button size="sm" variant="quietDanger" onClick={() => setAsking(true)}>
          {words.unlink}
        </Button>
      </li>
      {asking && <UnlinkDialog onClose={() => setAsking(false)} />}
    </ul>
  )
}

function UnlinkDialog({ onClose }: { onClose: () => void }) {
  const { busy, run } = useTask()
  const unlink = async () => {
    await run(
      async () => {
        await call('unlinkSlack')
        toast(words.ended, { tone: 'success' })
        onClose()
        await reload(SLACK)
      },
      (cause) => toastFailure(words.notEnded(errorMessage(cause, ''))),
    )
  }
  return (
    <ConfirmDialog
      title={words.confirm}
      confirm={words.unlink}
      danger
      busy={busy}
      onConfirm={() => void unlink()}
      onClose={onClose}
    >
      <p>{words.confirmBody}</p>
    </ConfirmDialog>
  )
}
