import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { Column } from '@/components/Column'
import { ErrorState } from '@/components/States'
import { ApiError, type Arguments, call, errorMessage, type GrantRequested } from '@/lib/api'
import { toastFailure } from '@/lib/ui/toast'
import styles from './connect.module.css'
import { Facts } from './Facts'
import { texts } from './texts'

/** The parameters of an authorization request. Other parameters are ignored. */
const PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
] as const

/** GrantPage shows an authorization request: the app, its permissions, the account and the redirect address. */
export function GrantPage() {
  const [search] = useSearchParams()
  const request: Arguments<'getGrant'> = { client_id: '', redirect_uri: '' }
  for (const name of PARAMETERS) {
    const value = search.get(name)
    if (value !== null) request[name] = value
  }
  const { data, error, refetch } = useQuery({
    queryKey: ['grant', request],
    queryFn: ({ signal }) => call('getGrant', { ...request, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const refused = error instanceof ApiError && error.status === 400
  return (
    <Column title={refused ? texts.wrong : texts.title} home="/home/skill" homeLabel={texts.home}>
      {refused && <p role="alert">{texts.wrongBody(error.detail)}</p>}
      {error && !refused && <ErrorState onRetry={() => void refetch()} />}
      {!data && !error && <p role="status">{texts.loading}</p>}
      {data && <Question asked={data} request={request} />}
    </Column>
  )
}

function Question({ asked, request }: { asked: GrantRequested; request: Arguments<'getGrant'> }) {
  const [busy, setBusy] = useState<'allow' | 'deny' | null>(null)
  const [leaving, setLeaving] = useState(asked.redirect_to ?? null)
  useEffect(() => {
    if (leaving !== null) window.location.replace(leaving)
  }, [leaving])
  const answer = async (allow: boolean) => {
    setBusy(allow ? 'allow' : 'deny')
    try {
      setLeaving((await call('grant', { body: { ...request, allow } })).redirect_to)
    } catch (cause) {
      setBusy(null)
      toastFailure(texts.notAnswered(errorMessage(cause, '')))
    }
  }
  if (leaving !== null || !asked.client || !asked.scopes) return <p role="status">{texts.leaving}</p>
  return (
    <div className={styles.page}>
      <p className={styles.asks}>{texts.asks(asked.client.name)}</p>
      <Facts scopes={asked.scopes} />
      <p className={styles.small}>
        {texts.leadsTo(asked.leads_to ?? '')}
        {texts.later}
      </p>
      <div className={styles.actions}>
        <Button
          variant="primary"
          size="lg"
          wide
          loading={busy === 'allow'}
          disabled={busy === 'deny'}
          onClick={() => void answer(true)}
        >
          {texts.allow}
        </Button>
        <Button
          size="lg"
          wide
          loading={busy === 'deny'}
          disabled={busy === 'allow'}
          onClick={() => void answer(false)}
        >
          {texts.cancel}
        </Button>
      </div>
    </div>
  )
}
