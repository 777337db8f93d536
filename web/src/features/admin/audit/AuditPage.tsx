import { Select } from '@/components/Field'
import { type AuditEvent, call } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { startOfDay } from '../format'
import filters from '../parts/Filters.module.css'
import { Page } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { Period } from '../parts/Period'
import { SaveCsv } from '../parts/SaveCsv'
import { SearchBox } from '../parts/SearchBox'
import table from '../parts/Table.module.css'
import { type AuditQuery, auditQuery } from '../queries'
import { audit as words } from '../texts'
import { type UrlState, useUrlState } from '../urlState'
import styles from './AuditPage.module.css'
import { actionOf, actorOf, changesOf, targetOf } from './describe'

const NAMES = ['q', 'action', 'from', 'to'] as const
/** The maximum count that the API returns. */
const MAX = 10_000

/** The audit log: actor, action, target, time and origin of each entry. */
export function AuditPage() {
  const url = useUrlState()
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={<SaveCsv name="tsumugi-audit" load={() => call('exportAudit', queryOf(url))} />}
    >
      <div>
        <Filters url={url} />
        <PagedTable
          query={(page) => auditQuery(queryOf(url), page)}
          found={words.found}
          none={<Nothing url={url} filters={NAMES} words={words} />}
          note={(total) => total >= MAX && <p className={styles.limit}>{words.limit}</p>}
          caption={words.table}
          columns={[words.at, words.what, words.target, words.actor, words.address]}
          className={cx(table.stacked, styles.events)}
          row={(event) => <Event key={event.id} event={event} />}
        />
      </div>
    </Page>
  )
}

// The days in the URL are in the reader's time zone; the API expects timestamps.
function queryOf(url: UrlState): AuditQuery {
  const q = url.get('q')
  const action = url.get('action')
  const from = startOfDay(url.get('from'))
  const to = startOfDay(url.get('to'), 1)
  return { ...(q && { q }), ...chosen(action), ...(from && { from }), ...(to && { to }) }
}

// The URL has one parameter for an action or for a group of actions.
function chosen(action: string): AuditQuery {
  if (action === 'sign_in' || action === 'administration' || action === 'tool') return { kind: action }
  return action ? { action } : {}
}

function kindOf(action: string): keyof typeof words.kinds {
  if (action === 'tool.call') return 'tool'
  return /^(session|password)\./.test(action) ? 'sign_in' : 'administration'
}

function Filters({ url }: { url: UrlState }) {
  return (
    <div className={cx(filters.filters, styles.filters)}>
      <SearchBox label={words.search} value={url.get('q')} onChange={(next) => url.set({ q: next })} />
      <Select
        label={words.action}
        hideLabel
        value={url.get('action')}
        onChange={(event) => url.set({ action: event.target.value })}
      >
        <option value="">{words.allActions}</option>
        {(['sign_in', 'administration', 'tool'] as const).map((kind) => (
          <optgroup key={kind} label={words.kinds[kind]}>
            <option value={kind}>{words.allOf(words.kinds[kind])}</option>
            {Object.entries(words.actions)
              .filter(([action]) => kindOf(action) === kind)
              .map(([action, name]) => (
                <option key={action} value={action}>
                  {name}
                </option>
              ))}
          </optgroup>
        ))}
      </Select>
      <Period url={url} />
    </div>
  )
}

function Event({ event }: { event: AuditEvent }) {
  const actor = actorOf(event)
  const target = targetOf(event)
  return (
    <tr>
      <td className={cx(table.top, table.nowrap, table.quiet)}>
        <time dateTime={event.at}>{formatFull(event.at)}</time>
      </td>
      <td className={table.top}>
        <span className={styles.action}>{actionOf(event.action)}</span>
        {changesOf(event).map((line) => (
          <span key={line} className={styles.change}>
            {line}
          </span>
        ))}
      </td>
      <td className={cx(table.top, styles.person, styles.target)} data-label={target && words.target}>
        {target}
      </td>
      <td className={cx(table.top, styles.person)} data-label={words.actor}>
        <span className={styles.actor}>
          <span>{actor.name}</span>
          {actor.account && <span>{actor.account}</span>}
        </span>
      </td>
      <td className={cx(table.top, table.quiet, styles.address)} data-label={event.address && words.address}>
        {event.address}
      </td>
    </tr>
  )
}
