import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { endConnection } from '@/entities/connection/connections'
import { scopeNames } from '@/entities/connection/scopes'
import type { Connection } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Page } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import { EndCell } from '../parts/Table'
import table from '../parts/Table.module.css'
import { connectionsQuery } from '../queries'
import { connections as words } from '../texts'
import { TokenPolicy } from './TokenPolicy'

/**
 * The connections to the members' accounts, which can be ended here, and whether members may create personal access
 * tokens.
 */
export function ConnectionsPage() {
  const [ending, setEnding] = useState<Connection | null>(null)
  return (
    <Page title={words.title} lead={words.lead}>
      <PagedTable
        query={connectionsQuery}
        caption={words.title}
        none={words.none}
        className={table.stacked}
        columns={[words.name, words.owner, words.began, words.used]}
        actions
        row={(connection) => (
          <Line key={connection.id} connection={connection} onEnd={() => setEnding(connection)} />
        )}
      />
      {ending && (
        <EndDialog
          words={words}
          end={() => endConnection(ending.id, true)}
          changes={['admin', 'listOrganizationConnections']}
          onClose={() => setEnding(null)}
        >
          <p>{words.confirmBody(ending.user?.name ?? '', ending.name)}</p>
        </EndDialog>
      )}
      <TokenPolicy />
    </Page>
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
      <td className={table.wide} data-label={words.owner}>
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
      <EndCell of={words.of(name)} end={words.end} onEnd={onEnd} />
    </tr>
  )
}
