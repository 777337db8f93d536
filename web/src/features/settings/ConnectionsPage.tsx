import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plug } from 'lucide-react'
import { EndButton } from '@/components/EndDialog'
import { Loaded } from '@/components/States'
import { connectionPolicyQuery, endConnection, ownConnectionsQuery } from '@/entities/connection/connections'
import { scopeNames } from '@/entities/connection/scopes'
import type { Connection } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import styles from './ConnectionsPage.module.css'
import { CreateToken } from './CreateToken'
import { Line } from './parts'
import sessions from './SessionsPage.module.css'
import { SettingPage } from './SettingPage'
import { ToolConnections } from './ToolConnections'
import { texts } from './texts'

const words = texts.connections

/** ConnectionsPage lists the connected apps and the personal access tokens of the user, with buttons to end them. */
export function ConnectionsPage() {
  const query = useQuery(ownConnectionsQuery)
  const { data } = query
  const { data: policy } = useQuery(connectionPolicyQuery)
  return (
    <SettingPage title={words.title}>
      <p className={sessions.lead}>{words.lead}</p>
      <Loaded query={query} loading={<p role="status">{words.loading}</p>}>
        {(all) => <List label={words.title} none={words.none} connections={ofKind(all, 'client')} />}
      </Loaded>
      <ToolConnections />
      <section className={styles.tokens} aria-labelledby="tokens">
        <h2 id="tokens" className={styles.heading}>
          {words.tokens.title}
        </h2>
        <p className={sessions.lead}>
          {policy?.personal_tokens === false ? words.tokens.forbidden : words.tokens.lead}
        </p>
        {policy?.personal_tokens && <CreateToken />}
        {data && policy?.personal_tokens && (
          <List label={words.tokens.title} none={words.tokens.none} connections={ofKind(data, 'personal')} />
        )}
      </section>
    </SettingPage>
  )
}

function ofKind(connections: readonly Connection[], kind: Connection['kind']): Connection[] {
  return connections.filter((connection) => connection.kind === kind)
}

interface ListProps {
  label: string
  none: string
  connections: readonly Connection[]
}

function List({ label, none, connections }: ListProps) {
  if (connections.length === 0) return <p className={styles.none}>{none}</p>
  return (
    <ul className={sessions.list} aria-label={label}>
      {connections.map((connection) => (
        <ConnectionLine key={connection.id} connection={connection} />
      ))}
    </ul>
  )
}

function ConnectionLine({ connection }: { connection: Connection }) {
  const { id, kind, name, scopes, device, address, created_at, last_used_at, expires_at } = connection
  const personal = kind === 'personal'
  const Icon = personal ? KeyRound : Plug
  const where = [device, address].filter(Boolean).join('・')
  const token = { confirm: words.confirmToken, end: words.endToken, ended: words.removed }
  return (
    <Line
      icon={<Icon size={20} aria-hidden />}
      name={name}
      facts={[
        last_used_at ? words.used(formatDate(last_used_at), where) : words.unused,
        personal && expires_at
          ? words.made(formatDate(created_at), lastDay(expires_at), scopeNames(scopes))
          : words.began(formatDate(created_at), scopeNames(scopes)),
      ]}
    >
      <EndButton
        label={personal ? words.remove : words.end}
        of={words.of(name)}
        words={personal ? { ...words, ...token } : words}
        end={() => endConnection(id)}
      >
        <p>{personal ? words.confirmTokenBody(name) : words.confirmBody(name)}</p>
      </EndButton>
    </Line>
  )
}

/** lastDay returns the last day of a token's validity. */
function lastDay(expiresAt: string): string {
  const day = new Date(new Date(expiresAt).getTime() - 1)
  return `${day.getFullYear()}年${day.getMonth() + 1}月${day.getDate()}日`
}
