import { useState } from 'react'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { EmptyState } from '@/components/States'
import { TokenDialog } from '@/components/TokenDialog'
import { call, type ScimConfig, type ScimToken } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Section } from '../parts/Page'
import { EndCell, Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { scim } from '../texts'
import { NameDialog } from './NameDialog'

const words = scim.tokens

type Open = { kind: 'name' } | { kind: 'created'; secret: string } | { kind: 'revoke'; token: ScimToken }

/** The tokens of the identity provider: super-admins create and revoke them. */
export function Tokens({ config, mayEdit }: { config: ScimConfig; mayEdit: boolean }) {
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const { tokens, max_tokens: max } = config
  const full = tokens.length >= max
  return (
    <Section
      title={words.title}
      lead={mayEdit && full ? words.full(max) : words.lead(max)}
      actions={
        mayEdit && (
          <Button variant="primary" disabled={full} onClick={() => setOpen({ kind: 'name' })}>
            {words.create}
          </Button>
        )
      }
    >
      <div className={table.box}>
        {tokens.length === 0 ? (
          <EmptyState title={words.none} />
        ) : (
          <Table
            caption={words.title}
            columns={[words.name, words.created, words.used]}
            actions={mayEdit}
            className={table.stacked}
          >
            {tokens.map((token) => (
              <Line
                key={token.id}
                token={token}
                onRevoke={mayEdit && (() => setOpen({ kind: 'revoke', token }))}
              />
            ))}
          </Table>
        )}
      </div>
      {open?.kind === 'name' && (
        <NameDialog onClose={close} onCreated={(secret) => setOpen({ kind: 'created', secret })} />
      )}
      {open?.kind === 'created' && <TokenDialog token={open.secret} onClose={close} />}
      {open?.kind === 'revoke' && (
        <EndDialog
          words={words}
          end={() => call('revokeSCIMToken', { token_id: open.token.id })}
          changes={['admin', 'getSCIMConfig']}
          onClose={close}
        >
          <p>{words.confirmBody(open.token.name)}</p>
        </EndDialog>
      )}
    </Section>
  )
}

function Line({ token, onRevoke }: { token: ScimToken; onRevoke: false | (() => void) }) {
  const { name, created_by, created_at, last_used_at } = token
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className={table.quiet} data-label={words.created}>
        {formatFull(created_at)}
        <div>{words.by(created_by)}</div>
      </td>
      <td className={cx(table.nowrap, table.quiet)} data-label={words.used}>
        {last_used_at ? formatFull(last_used_at) : words.unused}
      </td>
      {onRevoke && <EndCell of={words.of(name)} end={words.end} onEnd={onRevoke} />}
    </tr>
  )
}
