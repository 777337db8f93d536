import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { MessagesSquare } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { EndButton } from '@/components/EndDialog'
import { ErrorState } from '@/components/States'
import { ApiError, call, errorMessage, type SlackLink } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import { toastFailure } from '@/lib/ui/toast'
import { Line, Outcome } from './parts'
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
  const failure = refused ?? params.get('error')
  return (
    <SettingPage title={words.title}>
      <Outcome
        failed={failure !== null && (words.failures[failure] ?? words.failed)}
        done={params.get('result') === 'linked' && words.done}
      />
      <p className={sessions.lead}>{words.lead}</p>
      {!data && error && refused === null && <ErrorState onRetry={() => void refetch()} />}
      {!data && !error && <p role="status">{words.loading}</p>}
      {data && <Own own={data} state={state} />}
    </SettingPage>
  )
}

function Own({ own, state }: { own: SlackLink; state: string }) {
  if (own.workspace === '') return <p className={styles.none}>{words.none}</p>
  if (own.link) {
    return (
      <>
        {own.asking && own.asking.id !== own.link.person && (
          <p className={sessions.failed}>{words.another}</p>
        )}
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
  const since = formatDate(link.created_at)
  return (
    <ul className={sessions.list} aria-label={words.title}>
      <Line
        icon={<MessagesSquare size={20} aria-hidden />}
        name={words.facts(link.name || link.person, workspace)}
        mark={words.linked}
        facts={[link.automatic ? words.automatic(since) : words.since(since)]}
      >
        <EndButton
          label={words.end}
          words={words}
          end={() => call('unlinkSlack')}
          reasonOf={(cause) => words.notEnded + errorMessage(cause, '')}
          changes={SLACK}
        >
          <p>{words.confirmBody}</p>
        </EndButton>
      </Line>
    </ul>
  )
}
