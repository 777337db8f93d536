import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { call, type ManagedNotice } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatJapan } from '../format'
import { Page } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import table from '../parts/Table.module.css'
import { noticesQuery } from '../queries'
import { notices as words } from '../texts'
import styles from './Notice.module.css'

/** The notices to the members with their state. Administrators can end or delete their own here. */
export function NoticesPage() {
  const [ending, setEnding] = useState<ManagedNotice | null>(null)
  const scheduled = ending?.state === 'scheduled'
  const ways = scheduled ? words.deleting : words.ending
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <ButtonLink to="/admin/notice/new" variant="primary">
          <Plus size={16} aria-hidden />
          {words.add}
        </ButtonLink>
      }
    >
      <PagedTable
        query={noticesQuery}
        caption={words.title}
        none={words.none}
        className={table.stacked}
        columns={[
          words.columns.title,
          words.columns.state,
          words.columns.level,
          words.columns.audience,
          words.columns.period,
        ]}
        actions
        row={(notice) => <Line key={notice.id} notice={notice} onEnd={() => setEnding(notice)} />}
      />
      {ending && (
        <EndDialog
          words={ways}
          end={() =>
            call(scheduled ? 'deleteNotification' : 'endNotification', { notification_id: ending.id })
          }
          changes={['admin', 'listOrganizationNotifications']}
          onClose={() => setEnding(null)}
        >
          <p>{ways.body(ending.title)}</p>
        </EndDialog>
      )}
    </Page>
  )
}

function Line({ notice, onEnd }: { notice: ManagedNotice; onEnd: () => void }) {
  const to = notice.ends_at ? formatJapan(notice.ends_at) : ''
  return (
    <tr>
      <th scope="row">
        <Link to={`/admin/notice/${notice.id}`}>{notice.title}</Link>
        {!notice.own && <span className={styles.operators}>{words.operators}</span>}
      </th>
      <td className={table.nowrap}>
        <span className={styles.state} data-state={notice.state}>
          {words.states[notice.state]}
        </span>
      </td>
      <td className={table.nowrap} data-label={words.columns.level}>
        {words.levels[notice.level]}
      </td>
      <td className={table.nowrap} data-label={words.columns.audience}>
        {words.audiences[notice.audience]}
      </td>
      <td className={cx(table.quiet, table.wide)} data-label={words.columns.period}>
        <span className={table.nowrap}>{words.period(formatJapan(notice.published_at), '')}</span>
        <span className={table.nowrap}>{to}</span>
      </td>
      <td className={cx(table.narrow, table.end)}>
        {notice.own && notice.state !== 'ended' && (
          <Button size="sm" variant="quietDanger" onClick={onEnd}>
            <span className="visually-hidden">{words.of(notice.title)}</span>
            {notice.state === 'scheduled' ? words.deleting.action : words.ending.action}
          </Button>
        )}
      </td>
    </tr>
  )
}
