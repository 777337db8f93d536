import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plug } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { Loaded } from '@/components/States'
import { connectionPolicyQuery, endConnection, ownConnectionsQuery } from '@/entities/connection/connections'
import { scopeNames } from '@/entities/connection/scopes'
import type { Connection } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import styles from './ConnectionsPage.module.css'
import { CreateToken } from './CreateToken'
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
  const [ending, setEnding] = useState<Connection | null>(null)
  if (connections.length === 0) return <p className={styles.none}>{none}</p>
  return (
    <>
      <ul className={sessions.list} aria-label={label}>
        {connections.map((connection) => (
          <Line key={connection.id} connection={connection} onEnd={() => setEnding(connection)} />
        ))}
      </ul>
      {ending && <End connection={ending} onClose={() => setEnding(null)} />}
    </>
  )
}

function Line({ connection, onEnd }: { connection: Connection; onEnd: () => void }) {
  const { kind, name, scopes, device, address, created_at, last_used_at, expires_at } = connection
  const personal = kind === 'personal'
  const Icon = personal ? KeyRound : Plug
  const where = [device, address].filter(Boolean).join('・')
  return (
    <li className={sessions.line}>
      <Icon size={20} aria-hidden />
      <div className={sessions.what}>
        <p className={sessions.name}>{name}</p>
        <p>{last_used_at ? words.used(formatDate(last_used_at), where) : words.unused}</p>
        <p>
          {personal && expires_at
            ? words.made(formatDate(created_at), lastDay(expires_at), scopeNames(scopes))
            : words.began(formatDate(created_at), scopeNames(scopes))}
        </p>
      </div>
      <Button size="sm" variant="quietDanger" onClick={onEnd}>
        <span className="visually-hidden">{words.of(name)}</span>
        {personal ? words.remove : words.end}
      </Button>
    </li>
  )
}

/** lastDay returns the last day of a token's validity. */
function lastDay(expiresAt: string): string {
  const day = new Date(new Date(expiresAt).getTime() - 1)
  return `${day.getFullYear()}年${day.getMonth() + 1}月${day.getDate()}日`
}

function End({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const personal = connection.kind === 'personal'
  const token = { confirm: words.confirmToken, end: words.endToken, ended: words.removed }
  return (
    <EndDialog
      words={personal ? { ...words, ...token } : words}
      end={() => endConnection(connection.id)}
      onClose={onClose}
    >
      <p>{personal ? words.confirmTokenBody(connection.name) : words.confirmBody(connection.name)}</p>
    </EndDialog>
  )
}
