import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { endShare } from '@/entities/share/shares'
import type { Share } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { Page } from '../parts/Page'
import { PagedTable } from '../parts/PagedTable'
import { EndCell } from '../parts/Table'
import table from '../parts/Table.module.css'
import { sharesQuery } from '../queries'
import { shares as words } from '../texts'

/** The members' shares within the organization, which can be ended here. */
export function SharesPage() {
  const [ending, setEnding] = useState<Share | null>(null)
  return (
    <Page title={words.title} lead={words.lead}>
      <PagedTable
        query={sharesQuery}
        caption={words.title}
        none={words.none}
        className={table.stacked}
        columns={[words.name, words.owner, words.at]}
        actions
        row={(share) => <Line key={share.id} share={share} onEnd={() => setEnding(share)} />}
      />
      {ending && (
        <EndDialog
          words={words}
          end={() => endShare(ending.id)}
          changes={['admin', 'listOrganizationShares']}
          onClose={() => setEnding(null)}
        >
          <p>{words.confirmBody(ending.owner_name, ending.title)}</p>
        </EndDialog>
      )}
    </Page>
  )
}

function Line({ share, onEnd }: { share: Share; onEnd: () => void }) {
  return (
    <tr>
      <th scope="row">
        <a href={`/share/${share.id}`} target="_blank" rel="noreferrer">
          {share.title}
        </a>
      </th>
      <td data-label={words.owner}>{share.owner_name}</td>
      <td className={cx(table.nowrap, table.quiet)} data-label={words.at}>
        {formatFull(share.updated_at)}
      </td>
      <EndCell of={words.of(share.title)} end={words.end} onEnd={onEnd} />
    </tr>
  )
}
