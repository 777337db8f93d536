import { useState } from 'react'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { call, type SlackMemberLink } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Section } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import table from '../parts/Table.module.css'
import { slackLinksQuery } from '../queries'
import { texts } from '../texts'

const words = texts.slack.links

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
        head={
          <>
            <th scope="col">{words.member}</th>
            <th scope="col">{words.person}</th>
            <th scope="col">{words.since}</th>
            {mayEdit && (
              <th scope="col" className={table.narrow}>
                <span className="visually-hidden">{words.actions}</span>
              </th>
            )}
          </>
        }
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
              <td className={table.narrow}>
                <Button size="sm" variant="quietDanger" onClick={() => setEnding(link)}>
                  <span className="visually-hidden">{words.of(link.user_name)}</span>
                  {words.end}
                </Button>
              </td>
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
