import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState, Loaded } from '@/components/States'
import type { ScimCall } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { scimCallsQuery } from '../queries'
import { scim } from '../texts'
import styles from './Calls.module.css'
import { readablePath } from './path'

const words = scim.calls

/** The last calls of the identity provider, with the reasons of refused ones. */
export function Calls() {
  const [refused, setRefused] = useState(false)
  const query = useQuery(scimCallsQuery(refused))
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={
        <label className={styles.filter}>
          <Checkbox checked={refused} onChange={(event) => setRefused(event.target.checked)} />
          {words.refused}
        </label>
      }
    >
      <div className={table.box}>
        <Loaded
          query={query}
          loading={<LinesLoading />}
          empty={<EmptyState title={refused ? words.noneRefused : words.none} />}
        >
          {(calls) => (
            <Table
              caption={words.title}
              columns={[words.at, words.call, words.target, words.result]}
              className={table.stacked}
            >
              {calls.map((call) => (
                <Line key={call.id} call={call} />
              ))}
            </Table>
          )}
        </Loaded>
      </div>
    </Section>
  )
}

function Line({ call }: { call: ScimCall }) {
  const { at, token_name, method, path, target, status, code, detail } = call
  return (
    <tr>
      <td className={cx(table.nowrap, table.quiet)}>
        {formatFull(at)}
        <div>{token_name}</div>
      </td>
      <td className={styles.call}>
        <code className={styles.path}>{`${method} ${readablePath(path)}`}</code>
      </td>
      <td className={styles.target} data-label={words.target}>
        {target}
      </td>
      <td>
        {code === '' ? (
          words.ok(status)
        ) : (
          <>
            <span className={styles.failed}>{words.failed(status)}</span>{' '}
            <code className={styles.path}>{code}</code>
            <div className={table.quiet}>{detail}</div>
          </>
        )}
      </td>
    </tr>
  )
}
