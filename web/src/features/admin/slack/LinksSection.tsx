import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { call, type SlackMemberLink } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Section } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import { EndCell } from '../parts/Table'
import table from '../parts/Table.module.css'
import { slackLinksQuery } from '../queries'
import { slack } from '../texts'

const words = slack.links

/** The members who are linked with Slack, with a button to end a link. */
export function LinksSection({ mayEdit }: { mayEdit: boolean }) {
  const [ending, setEnding] = useState<SlackMemberLink | null>(null)
  return (
    <Section title={words.title}>
      <PagedTable
        query={slackLinksQuery}
        caption={words.title}
        none={words.none}
        className={table.stacked}
        columns={[words.member, words.person, words.since]}
        actions={mayEdit}
        row={(link) => (
          <tr key={link.user_id}>
            <th scope="row">
              {link.user_name}
              <div className={table.quiet}>{link.user_email}</div>
            </th>
            <td data-label={words.person}>
              {link.name || link.person}
              {link.automatic && <div className={table.quiet}>{words.automatic}</div>}
            </td>
            <td className={cx(table.nowrap, table.quiet)} data-label={words.since}>
              {formatFull(link.created_at)}
            </td>
            {mayEdit && (
              <EndCell of={words.of(link.user_name)} end={words.end} onEnd={() => setEnding(link)} />
            )}
          </tr>
        )}
      />
      {ending && (
        <EndDialog
          words={words}
          end={() => call('unlinkSlackMember', { user_id: ending.user_id })}
          changes={['admin', 'listSlackLinks']}
          onClose={() => setEnding(null)}
        >
          <p>{words.confirmBody(ending.user_name)}</p>
        </EndDialog>
      )}
    </Section>
  )
}
