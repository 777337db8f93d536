import { queryOptions, useQuery } from '@tanstack/react-query'
import { Plug } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { Button } from '@/components/Button'
import { EndButton } from '@/components/EndDialog'
import { call, errorMessage, type ToolConnection } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { toastFailure } from '@/lib/ui/toast'
import styles from './ConnectionsPage.module.css'
import { Line, Outcome } from './parts'
import sessions from './SessionsPage.module.css'
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
      <Outcome
        failed={failure !== null && (words.failures[failure] ?? words.failed)}
        done={params.get('result') === 'connected' && words.done}
      />
      <ul className={sessions.list} aria-label={words.title}>
        {data.map((connection) => (
          <ToolLine key={connection.server_id} connection={connection} />
        ))}
      </ul>
    </section>
  )
}

function ToolLine({ connection }: { connection: ToolConnection }) {
  const { server_id, name, url, connected_at } = connection
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
    <Line
      icon={<Plug size={20} aria-hidden />}
      name={name}
      mark={connected_at && words.connected}
      facts={[connected_at ? words.since(formatDate(connected_at)) : new URL(url).host]}
    >
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
          <EndButton
            label={words.end}
            of={words.of(name)}
            words={words}
            end={() => call('disconnectToolServer', { tool_server_id: server_id })}
            changes={['tool-connections']}
          >
            <p>{words.confirmBody(name)}</p>
          </EndButton>
        )}
      </div>
    </Line>
  )
}
