import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { EmptyState } from '@/components/States'
import { call, errorMessage, type OrganizationTool, type ToolServer } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { CopyValue } from '../parts/CopyValue'
import { BoxedFacts, Fact, Notice, Section } from '../parts/Page'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { storeToolServer } from '../queries'
import { tools } from '../texts'
import { ServerForm } from './ServerForm'
import { ToolDetail } from './ToolDetail'
import { ToolLine } from './ToolLine'
import styles from './Tools.module.css'

const words = tools.server

type Open = { kind: 'edit' } | { kind: 'remove' } | { kind: 'tool'; name: string }

/** A server with its settings and its tools. */
export function ServerSection({ server }: { server: ToolServer }) {
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const shown = open?.kind === 'tool' ? server.tools.find(({ name }) => name === open.name) : undefined
  return (
    <Section
      title={server.name}
      lead={<span className={styles.url}>{server.url}</span>}
      actions={<Actions server={server} onOpen={setOpen} />}
    >
      {!server.enabled && <Notice level="info">{words.off}</Notice>}
      {server.failure !== '' && <Notice level="danger">{words.failed(server.failure)}</Notice>}
      {server.auth === 'oauth' && server.tools.length === 0 && (
        <Notice level="info">
          <span>{words.connect}</span>
          <Link to="/setting/connections">{words.toConnections}</Link>
        </Notice>
      )}
      <Settings server={server} />
      <ToolTable server={server} onShow={(tool) => setOpen({ kind: 'tool', name: tool.name })} />
      {open?.kind === 'edit' && <ServerForm server={server} onClose={close} />}
      {open?.kind === 'remove' && (
        <EndDialog
          words={tools.removal}
          end={() => call('removeToolServer', { tool_server_id: server.id })}
          changes={['admin', 'listToolServers']}
          onClose={close}
        >
          <p>{tools.removal.body(server.name)}</p>
        </EndDialog>
      )}
      {shown && <ToolDetail server={server} tool={shown} onClose={close} />}
    </Section>
  )
}

function Actions({ server, onOpen }: { server: ToolServer; onOpen: (open: Open) => void }) {
  const { busy, run } = useTask()
  const check = () =>
    run(
      async () => {
        const read = await call('discoverTools', { tool_server_id: server.id })
        await storeToolServer(read)
        if (read.failure === '') toast(words.checked(read.tools.length), { tone: 'success' })
      },
      (cause) => toastFailure(words.failed(errorMessage(cause, ''))),
    )
  const of = <span className="visually-hidden">{words.of(server.name)}</span>
  return (
    <div className={styles.actions}>
      <Button size="sm" loading={busy} onClick={() => void check()}>
        {words.check}
      </Button>
      <Button size="sm" onClick={() => onOpen({ kind: 'edit' })}>
        {of}
        {words.edit}
      </Button>
      <Button size="sm" variant="quietDanger" onClick={() => onOpen({ kind: 'remove' })}>
        {of}
        {words.remove}
      </Button>
    </div>
  )
}

function Settings({ server }: { server: ToolServer }) {
  const { auth, header_name, has_secret, redirect_url, everyone, groups, checked_at } = server
  return (
    <BoxedFacts>
      <Fact name={words.auth}>
        {words.auths[auth]}
        {auth === 'header' && <div className={table.quiet}>{words.header(header_name, has_secret)}</div>}
      </Fact>
      {auth === 'oauth' && (
        <Fact name={words.redirect}>
          <CopyValue label={words.redirect} value={redirect_url} />
          <div className={table.quiet}>{words.redirectHint}</div>
        </Fact>
      )}
      <Fact name={words.audience}>
        {everyone ? words.everyone : groups.map(({ name }) => name).join('、')}
      </Fact>
      <Fact name={words.at}>{checked_at ? formatFull(checked_at) : words.never}</Fact>
    </BoxedFacts>
  )
}

function ToolTable({ server, onShow }: { server: ToolServer; onShow: (tool: OrganizationTool) => void }) {
  const heads = tools.table
  return (
    <div className={table.box}>
      {server.tools.length === 0 ? (
        <EmptyState title={words.unread} />
      ) : (
        <Table
          caption={heads.caption(server.name)}
          columns={[heads.tool, heads.rule, heads.marks]}
          actions
          className={table.stacked}
        >
          {server.tools.map((tool) => (
            <ToolLine key={tool.name} server={server} tool={tool} onShow={() => onShow(tool)} />
          ))}
        </Table>
      )}
    </div>
  )
}
