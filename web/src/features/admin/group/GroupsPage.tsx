import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import type { Group } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '@/lib/ui/numbers'
import filters from '../parts/Filters.module.css'
import { Page } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { SearchBox } from '../parts/SearchBox'
import table from '../parts/Table.module.css'
import { groupsQuery } from '../queries'
import { groups as words } from '../texts'
import { useUrlState } from '../urlState'
import { GroupForm } from './GroupForm'

/** The groups of the organization. */
export function GroupsPage() {
  const url = useUrlState()
  const [adding, setAdding] = useState(false)
  const q = url.get('q')
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          <Plus size={16} aria-hidden />
          {words.add}
        </Button>
      }
    >
      <div>
        <div className={filters.filters}>
          <SearchBox label={words.search} value={q} onChange={(next) => url.set({ q: next })} />
        </div>
        <PagedTable
          query={(page) => groupsQuery(q, page)}
          found={words.found}
          none={<Nothing url={url} words={words} />}
          caption={words.table}
          columns={[words.name, words.members, words.limit, words.source]}
          className={table.stacked}
          row={(group) => (
            <tr key={group.id}>
              <th scope="row">
                <Link to={`/admin/group/${group.id}`}>{group.name}</Link>
              </th>
              <td className={table.nowrap} data-label={words.members}>
                {words.people(formatNumber(group.member_count))}
              </td>
              <td className={table.nowrap} data-label={words.limit}>
                {limitText(group)}
              </td>
              <td className={cx(table.nowrap, table.quiet)} data-label={words.source}>
                {words.sources[group.source]}
              </td>
            </tr>
          )}
        />
      </div>
      {adding && <GroupForm onClose={() => setAdding(false)} />}
    </Page>
  )
}

/** limitText returns the monthly limit of each member of a group. */
export function limitText({ token_limit: limit }: Group): string {
  return limit === undefined ? words.byDefault : words.tokens(formatNumber(limit))
}
