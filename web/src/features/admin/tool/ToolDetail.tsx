import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { call, errorMessage, type OrganizationTool, type ToolServer } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { storeToolServer } from '../queries'
import { tools } from '../texts'
import styles from './Tools.module.css'

const words = tools.detail
const claims = ['read_only', 'destructive', 'idempotent', 'open_world'] as const

interface ToolDetailProps {
  server: ToolServer
  tool: OrganizationTool
  onClose: () => void
}

/** The definition of a tool, and the differences to the one that its server offers now. */
export function ToolDetail({ server, tool, onClose }: ToolDetailProps) {
  const { busy, run } = useTask()
  const changed = tool.state === 'changed'
  const accept = () =>
    void run(
      async () => {
        const args = { tool_server_id: server.id, tool_name: tool.name }
        await storeToolServer(
          await call('acceptTool', { ...args, body: { offered_sha256: tool.offered_sha256 } }),
        )
        toast(words.accepted(tool.title), { tone: 'success' })
        onClose()
      },
      (cause) => toastFailure(errorMessage(cause)),
    )
  return (
    <Dialog
      title={tool.title}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{words.close}</Button>
          {changed && (
            <Button variant="primary" loading={busy} onClick={accept}>
              {words.accept}
            </Button>
          )}
        </>
      }
    >
      <div className={styles.detail}>
        {changed && <Changes tool={tool} />}
        <Definition tool={tool} />
      </div>
    </Dialog>
  )
}

function Changes({ tool }: { tool: OrganizationTool }) {
  return (
    <section>
      <h3>{words.changes}</h3>
      <p className={table.quiet}>{words.changesLead}</p>
      <div className={table.box}>
        <Table
          caption={words.changes}
          columns={[words.field, words.before, words.after]}
          className={table.stacked}
        >
          {tool.changes.map(({ field, before, after }) => (
            <tr key={field}>
              <th scope="row">{fieldName(field)}</th>
              <td data-label={words.before} className={styles.value}>
                {before === '' ? words.absent : <del>{before}</del>}
              </td>
              <td data-label={words.after} className={styles.value}>
                {after === '' ? words.absent : <ins>{after}</ins>}
              </td>
            </tr>
          ))}
        </Table>
      </div>
    </section>
  )
}

/** fieldName returns the name of a value of a definition. */
function fieldName(field: string): string {
  return words.fields[field] ?? words.argument(field.replace(/^schema\./, ''))
}

function Definition({ tool }: { tool: OrganizationTool }) {
  const claimed = claims.filter((claim) => tool.claims[claim])
  return (
    <dl className={styles.facts}>
      <dt>{words.name}</dt>
      <dd>
        <code>{tool.name}</code>
      </dd>
      <dt>{words.description}</dt>
      <dd className={styles.value}>{tool.description || words.noDescription}</dd>
      <dt>{words.claims}</dt>
      <dd>
        {claimed.length === 0 ? words.noClaims : claimed.map((claim) => words.claimNames[claim]).join('、')}
        <div className={table.quiet}>{words.claimsHint}</div>
      </dd>
      <dt>{words.schema}</dt>
      <dd>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keyboards must reach it. */}
        <pre className={styles.schema} tabIndex={0}>
          {indented(tool.schema)}
        </pre>
      </dd>
    </dl>
  )
}

function indented(schema: string): string {
  try {
    return JSON.stringify(JSON.parse(schema), null, 2)
  } catch {
    return schema
  }
}
