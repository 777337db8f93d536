import { MoreHorizontal } from 'lucide-react'
import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { Select } from '@/components/Field'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { restorableUntil } from '@/entities/project/projects'
import { formatSize } from '@/entities/source/files'
import { call, errorMessage, type ManagedProject } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatDate } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import { toast, toastFailure } from '@/lib/ui/toast'
import members from '../members/MemberTable.module.css'
import filters from '../parts/Filters.module.css'
import { Page } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { SearchBox } from '../parts/SearchBox'
import table from '../parts/Table.module.css'
import { projectsQuery, refreshProjects } from '../queries'
import { projects as words } from '../texts'
import { useUrlState } from '../urlState'
import { Appoint } from './Appoint'

const states = ['active', 'archived', 'deleted'] as const

/** The projects of the organization. */
export function ProjectsPage() {
  const url = useUrlState()
  // A dialog opens after the menu has returned the focus to its button, where the dialog then restores it.
  const [open, setOpen] = useState<{ kind: 'appoint' | 'remove'; project: ManagedProject } | null>(null)
  const search = url.get('q')
  const state = states.find((one) => one === url.get('state')) ?? 'active'
  const close = () => setOpen(null)
  return (
    <Page title={words.title} lead={words.lead}>
      <div>
        <div className={filters.filters}>
          <SearchBox label={words.search} value={search} onChange={(q) => url.set({ q })} />
          <Select
            label={words.state}
            hideLabel
            value={state}
            onChange={({ target }) => url.set({ state: target.value === 'active' ? '' : target.value })}
            options={states.map((one) => [one, words.states[one]])}
          />
        </div>
        <PagedTable
          query={(page) => projectsQuery({ state, ...(search && { search }) }, page)}
          found={words.found}
          none={<Nothing url={url} filters={['q', 'state']} words={words} />}
          caption={words.table}
          columns={[words.name, words.managers, words.size, words.storage]}
          actions
          className={table.stacked}
          row={(project) => (
            <Row
              key={project.id}
              project={project}
              onAppoint={() => setOpen({ kind: 'appoint', project })}
              onRemove={() => setOpen({ kind: 'remove', project })}
            />
          )}
        />
      </div>
      {open?.kind === 'appoint' && <Appoint project={open.project} onClose={close} />}
      {open?.kind === 'remove' && (
        <EndDialog
          words={words.removing}
          end={() => call('deleteProject', { project_id: open.project.id })}
          changes={['admin', 'listAllProjects']}
          onClose={close}
        >
          <p>{words.removing.body(open.project.name)}</p>
        </EndDialog>
      )}
    </Page>
  )
}

interface RowProps {
  readonly project: ManagedProject
  readonly onAppoint: () => void
  readonly onRemove: () => void
}

function Row({ project, onAppoint, onRemove }: RowProps) {
  const { id, name, managers, counts, storage_used, archived, deleted_at } = project
  const change = async (way: keyof typeof words.done) => {
    try {
      if (way === 'restore') await call('restoreProject', { project_id: id })
      else await call('archiveProject', { project_id: id, body: { archived: way === 'archive' } })
      toast(words.done[way](name), { tone: 'success' })
    } catch (cause) {
      toastFailure(words.notDone(errorMessage(cause)))
    }
    await refreshProjects()
  }
  return (
    <tr>
      <th scope="row">
        {name}
        {deleted_at && (
          <div className={table.quiet}>{words.until(formatDate(restorableUntil(deleted_at)))}</div>
        )}
      </th>
      <td className={table.wide} data-label={words.managers}>
        {managers.length > 0 ? managers.map((manager) => manager.name).join('、') : words.noManager}
      </td>
      <td className={cx(table.quiet, table.wide)}>
        {words.sizeOf(
          formatNumber(counts.data_sources),
          formatNumber(counts.threads),
          formatNumber(counts.members),
        )}
      </td>
      <td className={table.nowrap} data-label={words.storage}>
        {formatSize(storage_used)}
      </td>
      <td className={cx(table.narrow, members.menu)}>
        <Menu
          trigger={
            <IconButton label={words.menu(name)}>
              <MoreHorizontal size={18} />
            </IconButton>
          }
        >
          {deleted_at ? (
            <MenuItem onSelect={() => void change('restore')}>{words.restore}</MenuItem>
          ) : (
            <>
              {managers.length === 0 && <MenuItem onSelect={onAppoint}>{words.appoint}</MenuItem>}
              <MenuItem onSelect={() => void change(archived ? 'unarchive' : 'archive')}>
                {archived ? words.unarchive : words.archive}
              </MenuItem>
              <MenuItem danger onSelect={onRemove}>
                {words.remove}
              </MenuItem>
            </>
          )}
        </Menu>
      </td>
    </tr>
  )
}
