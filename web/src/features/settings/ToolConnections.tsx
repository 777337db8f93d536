import { queryOptions, useQuery } from '@tanstack/react-query'
import { Plug } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { call, errorMessage, type ToolConnection } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { toastFailure } from '@/lib/ui/toast'
import styles from './ConnectionsPage.module.css'
import sessions from './SessionsPage.module.css'
import slack from './SlackPage.module.css'
import { texts } from './texts'

const words = texts.connections.tools

const toolConnectionsQuery = queryOptions({
  queryKey: ['tool-connections'],
  queryFn: ({ signal }) => call('listToolConnections', { signal }),
  select: ({ items }) => items,
  staleTime: 0,
})

/** ToolConnections lists the services that tools use with the user's own account. Without any, it shows nothing. */
export function ToolConnections() {
  const { data = [] } = useQuery(toolConnectionsQuery)
  const [params] = useSearchParams()
  const failure = params.get('error')
  if (data.length === 0 && failure === null) return null
  return (
    <section className={styles.tokens} aria-labelledby="tools">
      <h2 id="tools" className={styles.heading}>
        {words.title}
      </h2>
      <p className={sessions.lead}>{words.lead}</p>
      {failure !== null && (
        <p className={slack.failed} role="alert">
          {words.failures[failure] ?? words.failed}
        </p>
      )}
      {params.get('result') === 'connected' && (
        <p className={slack.done} role="status">
          {words.done}
        </p>
      )}
      <ul className={sessions.list} aria-label={words.title}>
        {data.map((connection) => (
          <Line key={connection.server_id} connection={connection} />
        ))}
      </ul>
    </section>
  )
}

function Line({ connection }: { connection: ToolConnection }) {
  const { server_id, name, url, connected_at } = connection
  const [ending, setEnding] = useState(false)
  const [leaving, setLeaving] = useState(false)
  const connect = async () => {
    setLeaving(true)
    try {
      window.location.assign((await call('connectToolServer', { tool_server_id: server_id })).url)
    } catch (cause) {
      setLeaving(false)
      toastFailure(errorMessage(cause, words.failed))
    }
  }
  return (
    <li className={sessions.line}>
      <Plug size={20} aria-hidden />
      <div className={sessions.what}>
        <p className={sessions.name}>
          {name}
          {connected_at && <span className={sessions.current}>{words.connected}</span>}
        </p>
        <p>{connected_at ? words.since(formatDate(connected_at)) : new URL(url).host}</p>
      </div>
      <div className={sessions.buttons}>
        <Button
          size="sm"
          variant={connected_at ? 'quiet' : 'secondary'}
          loading={leaving}
          onClick={() => void connect()}
        >
          <span className="visually-hidden">{words.of(name)}</span>
          {connected_at ? words.again : words.connect}
        </Button>
        {connected_at && (
          <Button size="sm" variant="quietDanger" onClick={() => setEnding(true)}>
            <span className="visually-hidden">{words.of(name)}</span>
            {words.end}
          </Button>
        )}
      </div>
      {ending && (
        <EndDialog
          words={words}
          end={() => call('disconnectToolServer', { tool_server_id: server_id })}
          changes={['tool-connections']}
          onClose={() => setEnding(false)}
        >
          <p>{words.confirmBody(name)}</p>
        </EndDialog>
      )}
    </li>
  )
}
