import { Download, Trash2, X } from 'lucide-react'
import { memo } from 'react'
import { IconButton } from '@/components/IconButton'
import { Snippet } from '@/components/Snippet'
import { Spinner } from '@/components/Spinner'
import { changeReading, sourceDeletions } from '@/entities/source/dataSources'
import { formatSize, hasPictures, kindOf } from '@/entities/source/files'
import { useOpenSource } from '@/entities/source/openSource'
import { save } from '@/entities/source/save'
import { describeStatus } from '@/entities/source/status'
import type { DataSource } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { cx } from '@/lib/ui/cx'
import { formatDate, formatFull } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import type { Selection } from '@/lib/ui/selection'
import { useTask } from '@/lib/ui/task'
import styles from './SourceTable.module.css'
import { texts } from './texts'

const words = texts.list

/** SourceTable is a table of data sources. On narrow screens, each row is a card. */
export function SourceTable({
  sources,
  selection,
}: {
  sources: readonly DataSource[]
  selection: Selection<DataSource>
}) {
  const count = selection.selected.length
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">{words.label}</caption>
      <thead>
        <tr>
          <th scope="col" className={styles.choice}>
            <label>
              <Checkbox
                checked={count === sources.length}
                indeterminate={count > 0 && count < sources.length}
                onChange={selection.toggleAll}
              />
              <span>{words.selectAll}</span>
            </label>
          </th>
          <th scope="col">{words.name}</th>
          <th scope="col">{words.kind}</th>
          <th scope="col" className={styles.number}>
            {words.size}
          </th>
          <th scope="col" className={styles.number}>
            {words.pages}
          </th>
          <th scope="col">{words.status}</th>
          <th scope="col">{words.created}</th>
          <th scope="col">
            <span className="visually-hidden">{words.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sources.map((source) => (
          <SourceRow
            key={source.id}
            source={source}
            selected={selection.has(source.id)}
            onSelect={selection.toggle}
          />
        ))}
      </tbody>
    </table>
  )
}

interface SourceRowProps {
  source: DataSource
  selected: boolean
  onSelect: (id: string) => void
}

const SourceRow = memo(({ source, selected, onSelect }: SourceRowProps) => {
  const { id, filename, size, page_count: pages, created_at: created } = source
  return (
    <tr data-line={id} data-selected={selected || undefined}>
      <td className={styles.choice}>
        <Checkbox aria-label={words.select(filename)} checked={selected} onChange={() => onSelect(id)} />
      </td>
      <th scope="row" className={styles.name}>
        <Name source={source} />
      </th>
      <td className={styles.quiet}>{kindOf(filename)}</td>
      <td className={cx(styles.quiet, styles.number)}>{formatSize(size)}</td>
      <td className={cx(styles.quiet, styles.number)} data-none={pages === 0 || undefined}>
        {pages > 0 ? formatNumber(pages) : words.unread}
        <span className={styles.unit}>{words.pageUnit}</span>
      </td>
      <td className={styles.status}>
        <Status source={source} />
      </td>
      <td className={cx(styles.quiet, styles.date)}>
        <time dateTime={created} title={formatFull(created)}>
          {formatDate(created)}
        </time>
      </td>
      <td className={styles.actions}>
        <Actions source={source} />
      </td>
    </tr>
  )
})

/** Name links the file name to the viewer, and a search's match to its place in the file. */
function Name({ source: { id, filename, match } }: { source: DataSource }) {
  const open = useOpenSource()
  return (
    <>
      <button type="button" className={styles.open} onClick={() => open({ dataSourceId: id })}>
        {filename}
      </button>
      {match && (
        <button
          type="button"
          className={styles.match}
          onClick={() => open({ dataSourceId: id, chunkId: match.chunk_embedding_id })}
        >
          <Snippet text={match.snippet} ranges={match.ranges} />
          <span className={styles.where}>
            {words.place(hasPictures(filename) ? `${match.page}${words.pageUnit}` : '', match.locator)}
          </span>
        </button>
      )}
    </>
  )
}

function Status({ source }: { source: DataSource }) {
  const { status, error, notice, filename } = source
  return (
    <>
      <span className={styles.state} data-state={status}>
        {status === 'running' && <Spinner size={14} />}
        {describeStatus(source)}
        {(status === 'pending' || status === 'running') && (
          <IconButton size="sm" label={texts.stop(filename)} onClick={() => void changeReading(source)}>
            <X size={14} />
          </IconButton>
        )}
      </span>
      {status === 'failed' && error && <p className={styles.reason}>{error}</p>}
      {status === 'success' && notice && <p className={styles.reason}>{notice}</p>}
      {status === 'failed' && (
        <button
          type="button"
          className={styles.again}
          aria-label={texts.againLabel(filename)}
          onClick={() => void changeReading(source)}
        >
          {texts.again}
        </button>
      )}
    </>
  )
}

function Actions({ source }: { source: DataSource }) {
  const { id, filename } = source
  const { busy: saving, run } = useTask()
  return (
    <div>
      <IconButton
        size="sm"
        label={texts.download(filename)}
        aria-busy={saving || undefined}
        onClick={() =>
          void run(
            () => save(source),
            () => {},
          )
        }
      >
        {saving ? <Spinner size={16} /> : <Download size={16} />}
      </IconButton>
      <IconButton
        size="sm"
        label={texts.delete(filename)}
        data-delete
        onClick={() => sourceDeletions.delete([id], () => requestAnimationFrame(() => focusDelete(id)))}
      >
        <Trash2 size={16} />
      </IconButton>
    </div>
  )
}

/** focusDelete focuses the delete button of a row after its deletion was undone, because the undo button disappears. */
function focusDelete(id: string): void {
  document.querySelector<HTMLElement>(`[data-line="${CSS.escape(id)}"] [data-delete]`)?.focus()
}
