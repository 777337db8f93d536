import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, ErrorState } from '@/components/States'
import { endConnection } from '@/entities/connection/connections'
import { scopeNames } from '@/entities/connection/scopes'
import type { Connection } from '@/lib/api'
import { readAnew } from '@/lib/api/queries'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { toast, toastFailure } from '@/lib/ui/toast'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { Paging } from '../parts/Paging'
import table from '../parts/Table.module.css'
import { connectionsQuery } from '../queries'
import { texts } from '../texts'
import { useUrlState } from '../urlState'
import { PolicySection } from './PolicySection'

const words = texts.connections

/** What is connected to the members' accounts, the way to end it, and whether they may make personal access tokens. */
export function ConnectionsPage() {
  const url = useUrlState()
  const { data, isError, isPlaceholderData, refetch } = useQuery({
    ...connectionsQuery(url.page),
    placeholderData: (before) => before,
  })
  return (
    <Page title={words.title} lead={words.lead}>
      <div className={table.box}>
        {data === undefined && (isError ? <ErrorState onRetry={() => void refetch()} /> : <LinesLoading />)}
        {data?.total === 0 && <EmptyState title={words.none} />}
        {data && data.items.length > 0 && <Connections items={data.items} busy={isPlaceholderData} />}
        {data && <Paging url={url} total={data.total} shown={data.items.length} />}
      </div>
      <PolicySection />
    </Page>
  )
}

function Connections({ items, busy }: { items: readonly Connection[]; busy: boolean }) {
  const [ending, setEnding] = useState<Connection | null>(null)
  return (
    <>
      <table className={cx(table.table, table.stacked)} aria-busy={busy}>
        <caption className="visually-hidden">{words.title}</caption>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.owner}</th>
            <th scope="col">{words.began}</th>
            <th scope="col">{words.used}</th>
            <th scope="col" className={table.narrow}>
              <span className="visually-hidden">{words.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((connection) => (
            <Line key={connection.id} connection={connection} onEnd={() => setEnding(connection)} />
          ))}
        </tbody>
      </table>
      {ending && <EndDialog connection={ending} onClose={() => setEnding(null)} />}
    </>
  )
}

function Line({ connection, onEnd }: { connection: Connection; onEnd: () => void }) {
  const { kind, name, user, scopes, device, address, created_at, last_used_at } = connection
  const kinds = kind === 'personal' ? [words.personal, scopeNames(scopes)] : [scopeNames(scopes)]
  return (
    <tr>
      <th scope="row">
        {name}
        <div className={table.quiet}>{kinds.join('・')}</div>
      </th>
      <td data-label={words.owner}>
        {user?.name}
        <div className={table.quiet}>{user?.email}</div>
      </td>
      <td className={cx(table.nowrap, table.quiet)} data-label={words.began}>
        {formatFull(created_at)}
      </td>
      <td className={table.quiet} data-label={words.used}>
        {last_used_at ? formatFull(last_used_at) : words.unused}
        <div>{[device, address].filter(Boolean).join('・')}</div>
      </td>
      <td className={table.narrow}>
        <Button size="sm" onClick={onEnd}>
          <span className="visually-hidden">{words.of(name)}</span>
          {words.end}
        </Button>
      </td>
    </tr>
  )
}

function EndDialog({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const [busy, setBusy] = useState(false)
  const end = async () => {
    setBusy(true)
    try {
      await endConnection(connection.id, true)
      toast(words.ended, { tone: 'success' })
      onClose()
      await readAnew(['admin', 'connections'])
    } catch {
      setBusy(false)
      toastFailure(words.notEnded)
    }
  }
  return (
    <ConfirmDialog
      title={words.confirm}
      confirm={words.end}
      danger
      busy={busy}
      onConfirm={() => void end()}
      onClose={onClose}
    >
      <p>{words.confirmBody(connection.user?.name ?? '', connection.name)}</p>
    </ConfirmDialog>
  )
}
